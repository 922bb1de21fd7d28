//===- FrameEncode.cpp - encoders of frames -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/EntryWriter.h"
#include "runtime/comm/Frame.h"
#include "runtime/comm/Wire.h"

#include <cassert>

using namespace sluice;
using namespace sluice::comm;

namespace {

/// Begins a frame. finish() writes its length.
WireWriter begin(uint64_t plan, FrameKind kind, uint64_t step,
                 uint64_t launched, Bytes &out) {
  out.clear();
  WireWriter writer(out);
  writer.put(frameMagic);
  writer.put(frameVersion);
  writer.put(static_cast<uint8_t>(kind));
  writer.put(uint8_t{0});
  writer.put(plan);
  writer.put(step);
  writer.put(launched);
  writer.put(int64_t{0});
  writer.put(uint64_t{0});
  assert(out.size() == frameHeaderBytes);
  return writer;
}

void finish(Bytes &out) {
  uint64_t length = out.size();
  std::memcpy(out.data() + lengthOffset, &length, sizeof(length));
}

} // namespace

void FrameCodec::encodeStep(const StepFrame &frame,
                            const ActivationRows &activations,
                            Bytes &out) const {
  assert(activations.data.empty() ||
         activations.data.size() == frame.rows.size() * activations.width *
                                        activationBytes(activations.format));
  WireWriter writer =
      begin(identity, FrameKind::Step, frame.step, frame.launched, out);
  if (frame.isTombstone())
    return finish(out);
  EntryWriter entries(writer, bounds);
  stepCounts(entries, frame);
  bool carries = !activations.data.empty();
  writer.put(static_cast<uint32_t>(carries ? activations.width : 0));
  writer.put(carries ? static_cast<uint8_t>(activations.format) : uint8_t{0});
  stepEntries(entries, frame);
  if (carries) {
    out.resize(alignedOffset(out.size()));
    writer.put(activations.data);
  }
  finish(out);
}

void FrameCodec::encodeResults(const ResultFrame &frame, Bytes &out) const {
  WireWriter writer =
      begin(identity, FrameKind::Results, frame.step, frame.launched, out);
  EntryWriter entries(writer, bounds);
  fields(entries, frame);
  finish(out);
}

void FrameCodec::encodeEpochs(const EpochFrame &frame, Bytes &out) const {
  WireWriter writer = begin(identity, FrameKind::Epochs, 0, 0, out);
  writer.put(int64_t{frame.decided.count()});
  EntryWriter entries(writer, bounds);
  markList(entries, frame.marks);
  finish(out);
}

void FrameCodec::encodeError(int64_t rank, std::string_view text,
                             Bytes &out) const {
  WireWriter writer = begin(identity, FrameKind::Error, 0, 0, out);
  writer.put(static_cast<int32_t>(rank));
  writer.put(text.substr(0, static_cast<size_t>(bounds.textBytes)));
  finish(out);
}

void FrameCodec::encodeReport(std::string_view text, Bytes &out) const {
  WireWriter writer = begin(identity, FrameKind::Report, 0, 0, out);
  writer.put(text);
  finish(out);
}

void FrameCodec::encodeShutdown(Bytes &out) const {
  begin(identity, FrameKind::Shutdown, 0, 0, out);
  finish(out);
}
