//===- Frame.h - the messages between ranks -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One message is one frame: a header, tables, and for a step the activations of
// its rows. Little-endian, packed.
//
//   offset  size
//        0     4  magic, "SLUF"
//        4     2  version
//        6     1  kind
//        7     1  0
//        8     8  the plan's identity
//       16     8  the sender's count of its steps, or of its results; 0 for
//                 other kinds
//       24     8  frames of the head that have been taken in whole; 0 likewise
//       32     8  deliverAt: not before this time of CLOCK_MONOTONIC, in
//                 nanoseconds; 0: at once. Link emulation stamps it.
//       40     8  the frame's length, header included
//       48        the body; see FrameEncode.cpp
//
// A step frame that has nothing to say but marks and timings travels without a
// body: such a tombstone is frameHeaderBytes long, and those stay behind.
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

constexpr uint32_t frameMagic = 0x46554C53; ///< "SLUF" in the file's order
constexpr uint16_t frameVersion = 5;
constexpr int64_t frameHeaderBytes = 48;

enum class FrameKind : uint8_t {
  Step = 1, ///< StepFrame and activations
  Results,  ///< ResultFrame
  Epochs,   ///< EpochMarks: a cancel
  Error,    ///< what has failed at a rank
  Report,   ///< a rank's statistics at the end; text that only its reader knows
  Shutdown, ///< no more requests: report and end
};
std::string_view frameKindName(FrameKind kind);

struct FrameHeader {
  uint64_t plan = 0;
  FrameKind kind = FrameKind::Step;
  uint64_t step = 0;
  uint64_t launched = 0;
  Time deliverAt{0};
  int64_t length = 0; ///< bytes, that of the frame
};

/// What a frame may hold; whatever is beyond is refused before anything is
/// allocated for it.
struct FrameLimits {
  int64_t rows = 512;   ///< of a step; also results of one
  int64_t requests = 1; ///< slots; also opens, marks and closes of a frame
  int64_t contextLength = 0;
  int64_t sharedPages = 0; ///< also unpins, pins and pages of a prefix
  int64_t vocabSize = 0;
  int64_t width = 0; ///< numbers of a row's activations; 0: none come
  ActivationFormat format = ActivationFormat::F32; ///< of the activations
  int64_t stages = 64;                             ///< timings of a frame
  int64_t reportEntries = 64; ///< log-probabilities reported with a token
  int64_t textBytes = int64_t{64} << 20; ///< of an error or a report
};

/// data[row][width], row by row as in StepFrame::rows.
struct ActivationRows {
  ActivationFormat format = ActivationFormat::F32;
  int64_t width = 0;
  std::span<const uint8_t> data;

  const uint8_t *row(int64_t index) const {
    return data.data() + index * width * activationBytes(format);
  }
};

/// A cancel: what has been confirmed, and when the head decided it.
struct EpochFrame {
  Time decided{0}; ///< CLOCK_MONOTONIC of the head's machine
  std::vector<EpochMark> marks;
};

struct ErrorFrame {
  int64_t rank = 0;
  std::string text;
};

/// Makes and reads the frames of one plan. Immutable, so thread-safe.
///
/// Encoders write into `out`, which keeps its room. They do not check what they
/// are given against the limits: the reader does.
///
/// Decoders fill their target, whose vectors keep their room, and allocate
/// nothing once it has been big enough. Every number is checked. Errors say
/// what is wrong and by how much; the target is then undefined but valid.
class FrameCodec {
public:
  FrameCodec(uint64_t plan, const FrameLimits &limits)
      : identity(plan), bounds(limits) {}

  uint64_t plan() const { return identity; }
  const FrameLimits &limits() const { return bounds; }

  /// `activations` has a row for each row of the frame, or no data.
  void encodeStep(const StepFrame &frame, const ActivationRows &activations,
                  Bytes &out) const;
  void encodeResults(const ResultFrame &frame, Bytes &out) const;
  void encodeEpochs(const EpochFrame &frame, Bytes &out) const;
  /// A text over the limit is cut.
  void encodeError(int64_t rank, std::string_view text, Bytes &out) const;
  void encodeReport(std::string_view text, Bytes &out) const;
  void encodeShutdown(Bytes &out) const;

  /// Errors: too short for a header, not a frame, another version, from another
  /// plan, unknown kind, a length that is not that of `bytes`.
  Expected<FrameHeader> readHeader(std::span<const uint8_t> bytes) const;

  /// Each reads the header again, and refuses other kinds.
  /// `activations` refers into `bytes`, at any alignment. A frame with rows
  /// must bring activations of exactly `limits.width` and `limits.format`, or
  /// none where the width is 0.
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

/// Stamps a frame that is ready to be sent. `bytes` holds at least a header.
void setDeliverAt(std::span<uint8_t> bytes, Time at);
/// The stamp of what may be a frame; 0 where it is too short for one.
Time deliverAtOf(std::span<const uint8_t> bytes);

/// Sixteen hexadecimal digits, as the descriptor and messages show it.
std::string planIdentityText(uint64_t plan);

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_FRAME_H
