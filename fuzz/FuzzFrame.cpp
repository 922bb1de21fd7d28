//===- FuzzFrame.cpp - fuzzes the reader of messages between ranks --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Frame.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::comm;

namespace {

FrameLimits limits() {
  FrameLimits limits;
  limits.rows = 64;
  limits.requests = 4;
  limits.contextLength = 1024;
  limits.sharedPages = 16;
  limits.vocabSize = 1000;
  limits.stages = 8;
  limits.reportEntries = 8;
  limits.textBytes = 4096;
  return limits;
}

FrameLimits limitsWithActivations() {
  FrameLimits wide = limits();
  wide.width = 4;
  return wide;
}

/// What is read is written with the same bytes: nothing in a frame goes unread.
void expectSame(std::span<const uint8_t> frame, Bytes again) {
  setDeliverAt(again, deliverAtOf(frame));
  if (!std::equal(frame.begin(), frame.end(), again.begin(), again.end()))
    std::abort();
}

void readStep(const FrameCodec &codec, std::span<const uint8_t> frame) {
  StepFrame step;
  ActivationRows activations;
  Bytes again;
  if (!codec.decodeStep(frame, step, activations).ok())
    return;
  codec.encodeStep(step, activations, again);
  expectSame(frame, again);
}

void readOthers(const FrameCodec &codec, std::span<const uint8_t> frame) {
  Bytes again;
  ResultFrame results;
  if (codec.decodeResults(frame, results).ok()) {
    codec.encodeResults(results, again);
    expectSame(frame, again);
  }
  EpochFrame epochs;
  if (codec.decodeEpochs(frame, epochs).ok()) {
    codec.encodeEpochs(epochs, again);
    expectSame(frame, again);
  }
  ErrorFrame error;
  if (codec.decodeError(frame, error).ok()) {
    codec.encodeError(error.rank, error.text, again);
    expectSame(frame, again);
  }
  std::string text;
  if (codec.decodeReport(frame, text).ok()) {
    codec.encodeReport(text, again);
    expectSame(frame, again);
  }
}

} // namespace

/// Any bytes are refused, or read as what they say.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr uint64_t plan = 0x0123456789abcdef;
  static const FrameCodec plain(plan, limits());
  static const FrameCodec wide(plan, limitsWithActivations());
  std::span<const uint8_t> frame(data, size);
  readStep(plain, frame);
  readStep(wide, frame);
  readOthers(plain, frame);
  return 0;
}
