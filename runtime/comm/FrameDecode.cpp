//===- FrameDecode.cpp - decoders of frames -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/EntryReader.h"
#include "runtime/comm/Frame.h"
#include "runtime/comm/Wire.h"

using namespace sluice;
using namespace sluice::comm;

namespace {

/// Returns the body of a frame whose header has been checked.
std::span<const uint8_t> bodyOf(std::span<const uint8_t> bytes) {
  return bytes.subspan(frameHeaderBytes);
}

Expected<FrameHeader> readHeaderOf(FrameKind kind, const FrameCodec &codec,
                                   std::span<const uint8_t> bytes) {
  Expected<FrameHeader> header = codec.readHeader(bytes);
  if (header && header->kind != kind)
    return failure("frame: kind '", frameKindName(header->kind),
                   "' instead of '", frameKindName(kind), "'");
  return header;
}

/// Returns the reader's error, with the kind of the frame.
Status finish(WireReader &in, FrameKind kind) {
  Status status = in.finish();
  return status.ok()
             ? status
             : failure("frame '", frameKindName(kind), "': ", status.message());
}

/// Reads data[row][width], which begins at the first aligned offset after the
/// entries.
void readActivations(WireReader &in, size_t frameBytes, int64_t rows,
                     int64_t width, const FrameLimits &limits,
                     ActivationRows &activations) {
  int64_t expected = rows == 0 ? 0 : limits.width;
  if (in.ok() && width != expected)
    in.fail(failure("activations of width ", width, " instead of ", expected));
  if (in.ok() && width == 0 && activations.format != ActivationFormat::F32)
    in.fail(failure("a format without activations"));
  if (in.ok() && width != 0 && activations.format != limits.format)
    in.fail(failure("activations as ", activationFormatName(activations.format),
                    " instead of ", activationFormatName(limits.format)));
  activations.width = width;
  activations.data = {};
  if (!in.ok() || width == 0)
    return;
  size_t offset = frameBytes - in.remaining();
  for (uint8_t zero : in.take(alignedOffset(offset) - offset))
    if (zero != 0)
      in.fail(failure("padding is not zero"));
  activations.data = in.take(
      static_cast<size_t>(rows * width * activationBytes(activations.format)));
}

} // namespace

Status FrameCodec::decodeStep(std::span<const uint8_t> bytes, StepFrame &frame,
                              ActivationRows &activations) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Step, *this, bytes);
  if (!header)
    return header.status();
  frame.clear();
  frame.step = header->step;
  frame.launched = header->launched;
  activations = {};
  if (bodyOf(bytes).empty())
    return {}; // a tombstone
  WireReader in(bodyOf(bytes));
  EntryReader entries(in, bounds);
  stepCounts(entries, frame);
  auto width = static_cast<int64_t>(in.get<uint32_t>());
  activations.format = static_cast<ActivationFormat>(in.getInRange<uint8_t>(
      "an activation format", 0, static_cast<int64_t>(ActivationFormat::F16)));
  if (in.ok() && frame.isTombstone())
    in.fail(failure("a tombstone with a body"));
  stepEntries(entries, frame);
  readActivations(in, bytes.size(), std::ssize(frame.rows), width, bounds,
                  activations);
  return finish(in, FrameKind::Step);
}

Status FrameCodec::decodeResults(std::span<const uint8_t> bytes,
                                 ResultFrame &frame) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Results, *this, bytes);
  if (!header)
    return header.status();
  frame.step = header->step;
  frame.launched = header->launched;
  WireReader in(bodyOf(bytes));
  EntryReader entries(in, bounds);
  fields(entries, frame);
  return finish(in, FrameKind::Results);
}

Status FrameCodec::decodeEpochs(std::span<const uint8_t> bytes,
                                EpochFrame &frame) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Epochs, *this, bytes);
  if (!header)
    return header.status();
  WireReader in(bodyOf(bytes));
  EntryReader entries(in, bounds);
  frame.decided = Time(in.getInRange<int64_t>("a time", 0, maxInt64));
  markList(entries, frame.marks);
  return finish(in, FrameKind::Epochs);
}

Status FrameCodec::decodeError(std::span<const uint8_t> bytes,
                               ErrorFrame &frame) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Error, *this, bytes);
  if (!header)
    return header.status();
  WireReader in(bodyOf(bytes));
  frame.rank = in.getInRange<int32_t>("a rank", 0, maxInt32);
  if (in.ok() && in.remaining() > static_cast<size_t>(bounds.textBytes))
    in.fail(failure("a text of ", in.remaining(), " bytes, the limit is ",
                    bounds.textBytes));
  std::span<const uint8_t> text = in.take(in.remaining());
  frame.text.assign(text.begin(), text.end());
  return finish(in, FrameKind::Error);
}

Status FrameCodec::decodeReport(std::span<const uint8_t> bytes,
                                std::string &text) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Report, *this, bytes);
  if (!header)
    return header.status();
  std::span<const uint8_t> body = bodyOf(bytes);
  if (body.size() > static_cast<size_t>(bounds.textBytes))
    return failure("frame 'report': a text of ", body.size(),
                   " bytes, the limit is ", bounds.textBytes);
  text.assign(body.begin(), body.end());
  return {};
}
