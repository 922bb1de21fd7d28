//===- FramesUnderWay.cpp - the frames between launch and return ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/FramesUnderWay.h"

#include <algorithm>

namespace sluice {

FramesUnderWay::FramesUnderWay(const HeadLimits &limits, HeadCommands &commands,
                               PageLedger &ledger)
    : commands(commands), ledger(ledger),
      maxFrames(static_cast<uint64_t>(limits.framesInFlight)) {
  frames.reserve(maxFrames);
}

StepFrame &FramesUnderWay::launch() {
  StepFrame &frame = commands.launches.add();
  frame.step = framesSent++;
  frame.launched = framesSent;
  ledger.takeOrders(frame.pins, frame.unpins);
  return frame;
}

FramesUnderWay::Frame &FramesUnderWay::addRows(int64_t rows,
                                               int64_t positions) {
  const uint64_t newest = framesSent - 1;
  if (frames.empty() || frames.back().step != newest)
    frames.push_back({.step = newest});
  frames.back().rows += rows;
  frames.back().positions += positions;
  return frames.back();
}

void FramesUnderWay::addCertainRows(int64_t rows, int64_t positions) {
  addRows(rows, positions).hasOthers = true;
}

void FramesUnderWay::addPromptRows(int64_t rows, int64_t positions) {
  addRows(rows, positions).hasPrompt = true;
}

int64_t FramesUnderWay::countPrompts() const {
  return std::ranges::count_if(frames, &Frame::hasPrompt);
}

int64_t FramesUnderWay::countCertain() const {
  return std::ranges::count_if(frames, &Frame::hasOthers);
}

/// Returns the oldest frame that is not one of the head's first `step` frames.
std::vector<FramesUnderWay::Frame>::const_iterator
FramesUnderWay::findFirstFrom(uint64_t step) const {
  return std::ranges::find_if(
      frames, [step](const Frame &each) { return each.step >= step; });
}

std::optional<FramesUnderWay::MeasuredStep>
FramesUnderWay::measure(const ResultFrame &answer) const {
  if (answer.isLate())
    return std::nullopt;
  MeasuredStep step;
  const auto end = findFirstFrom(answer.launched);
  for (auto each = frames.begin(); each != end; ++each) {
    step.rows += each->rows;
    step.positions += each->positions;
  }
  for (const StageTiming &timing : answer.timings) {
    if (timing.rows != step.rows || timing.departed > 0)
      return std::nullopt;
    step.took = std::max(step.took, Time(timing.busyNanos));
  }
  return step;
}

void FramesUnderWay::noteGone(uint64_t count) {
  framesGone = std::max(framesGone, count);
  frames.erase(frames.begin(), findFirstFrom(framesGone));
}

} // namespace sluice
