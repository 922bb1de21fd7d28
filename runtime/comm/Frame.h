//===- Frame.h - the format of messages between ranks ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defines the messages between ranks, and encodes and decodes them. One message
// is one frame: a header, tables, and for a step the activations of its rows.
// Numbers are little-endian and packed.
//
//   offset  size
//        0     4  magic, "SLUF"
//        4     2  version
//        6     1  kind
//        7     1  0
//        8     8  the plan's identity
//       16     8  the sender's count of its steps, or of its results; 0 for
//                 other kinds
//       24     8  how many frames of the head have been taken in whole; 0 for
//                 other kinds
//       32     8  deliverAt: the earliest time of delivery, in nanoseconds of
//                 CLOCK_MONOTONIC; 0: at once. Set by link emulation.
//       40     8  the frame's length in bytes, header included
//       48        the body; see FrameEncode.cpp
//
// A step frame that holds nothing but marks and timings travels without a body,
// and without these. Such a tombstone is frameHeaderBytes long.
//
//   FrameCodec codec(planIdentity, limits);
//   codec.encodeStep(frame, activations, bytes);
//   ...
//   Expected<FrameHeader> header = codec.readHeader(bytes);
//   switch (header->kind) {
//   case FrameKind::Step: codec.decodeStep(bytes, frame, activations); ...
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_FRAME_H
#define SLUICE_RUNTIME_COMM_FRAME_H

#include "runtime/base/Status.h"
#include "runtime/comm/Bytes.h"
#include "runtime/core/Rows.h"
#include "runtime/formats/Activations.h"

#include <span>
#include <string>
#include <string_view>

namespace sluice::comm {

/// "SLUF" in the order of the bytes.
constexpr uint32_t frameMagic = 0x46554C53;
constexpr uint16_t frameVersion = 6;
constexpr int64_t frameHeaderBytes = 48;

enum class FrameKind : uint8_t {
  Step = 1, ///< StepFrame and activations
  Results,  ///< ResultFrame
  Epochs,   ///< EpochMarks, for a cancel
  Error,    ///< an error at a rank
  Report,   ///< a rank's statistics at the end, as text that only its reader
            ///< parses
  Shutdown, ///< no more requests: each rank reports and ends
};
std::string_view frameKindName(FrameKind kind);

struct FrameHeader {
  uint64_t plan = 0;
  FrameKind kind = FrameKind::Step;
  uint64_t step = 0;
  uint64_t launched = 0;
  Time deliverAt{0};
  int64_t length = 0; ///< of the frame, in bytes
};

/// The most that a frame may hold. Decoders refuse what exceeds a limit before
/// they allocate anything for it.
struct FrameLimits {
  /// Rows of a step, and results of a result frame.
  int64_t rows = defaultStepRows;
  /// Slots of requests, and also opens, marks and closes of a frame.
  int64_t requests = 1;
  int64_t contextLength = 0;
  /// Shared pages, and also unpins, pins and pages of a prefix in a frame.
  int64_t sharedPages = 0;
  int64_t vocabSize = 0;
  /// Numbers in a row's activations; 0 if frames bring none.
  int64_t width = 0;
  ActivationFormat format = ActivationFormat::F32;
  /// Timings of a frame.
  int64_t stages = 64;
  /// Log-probabilities that are reported with a token.
  int64_t reportEntries = 64;
  /// Bytes of the text of an error or a report.
  int64_t textBytes = int64_t{64} << 20;
};

/// Activations of a step, data[row][width], in the order of StepFrame::rows.
struct ActivationRows {
  ActivationFormat format = ActivationFormat::F32;
  int64_t width = 0;
  std::span<const uint8_t> data;

  const uint8_t *row(int64_t index) const {
    return data.data() + index * width * activationBytes(format);
  }
};

/// A cancel: the marks that the head has decided, and when.
struct EpochFrame {
  Time decided{0}; ///< CLOCK_MONOTONIC of the head's machine
  std::vector<EpochMark> marks;
};

struct ErrorFrame {
  int64_t rank = 0;
  std::string text;
};

/// Encodes and decodes the frames of one plan. Immutable, so thread-safe.
///
/// Encoders write into `out`, which keeps its capacity. They do not check their
/// arguments against the limits; the decoder does.
///
/// Decoders fill their target, whose vectors keep their capacity, so decoding
/// allocates nothing once the target has been large enough. Every number is
/// checked. Errors name the wrong value and its limit; the target is then
/// unspecified but valid.
class FrameCodec {
public:
  FrameCodec(uint64_t plan, const FrameLimits &limits)
      : identity(plan), bounds(limits) {}

  uint64_t plan() const { return identity; }
  const FrameLimits &limits() const { return bounds; }

  /// `activations` has one row for each row of the frame, or no data.
  void encodeStep(const StepFrame &frame, const ActivationRows &activations,
                  Bytes &out) const;
  void encodeResults(const ResultFrame &frame, Bytes &out) const;
  void encodeEpochs(const EpochFrame &frame, Bytes &out) const;
  /// Truncates a text that exceeds the limit.
  void encodeError(int64_t rank, std::string_view text, Bytes &out) const;
  void encodeReport(std::string_view text, Bytes &out) const;
  void encodeShutdown(Bytes &out) const;

  /// Reads a frame's header. Errors: `bytes` is too short for a header or is no
  /// frame, the version or the plan is another one, the kind is unknown, or the
  /// length is not that of `bytes`.
  Expected<FrameHeader> readHeader(std::span<const uint8_t> bytes) const;

  /// Decode a frame. Each function reads the header again, and refuses other
  /// kinds. `activations` refers into `bytes`, at any alignment. A frame with
  /// rows must bring activations of exactly `limits.width` and `limits.format`,
  /// or none if the width is 0.
  Status decodeStep(std::span<const uint8_t> bytes, StepFrame &frame,
                    ActivationRows &activations) const;
  Status decodeResults(std::span<const uint8_t> bytes,
                       ResultFrame &frame) const;
  Status decodeEpochs(std::span<const uint8_t> bytes, EpochFrame &frame) const;
  Status decodeError(std::span<const uint8_t> bytes, ErrorFrame &frame) const;
  Status decodeReport(std::span<const uint8_t> bytes, std::string &text) const;

private:
  uint64_t identity;
  FrameLimits bounds;
};

/// Sets the deliverAt of an encoded frame. `bytes` holds at least a header.
void setDeliverAt(std::span<uint8_t> bytes, Time at);
/// Returns the deliverAt of what may be a frame; 0 if it is too short for a
/// header.
Time deliverAtOf(std::span<const uint8_t> bytes);

/// Returns `plan` as sixteen hexadecimal digits, as descriptors and messages
/// show it.
std::string planIdentityText(uint64_t plan);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_FRAME_H
