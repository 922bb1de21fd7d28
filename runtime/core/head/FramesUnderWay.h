//===- FramesUnderWay.h - the frames between launch and return ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_FRAMESUNDERWAY_H
#define SLUICE_RUNTIME_CORE_HEAD_FRAMESUNDERWAY_H

#include "runtime/core/HeadCommands.h"
#include "runtime/core/HeadLimits.h"
#include "runtime/core/PageLedger.h"

namespace sluice {

/// Launches frames to the first stage and counts them until they have passed
/// all stages. Thread-compatible.
class FramesUnderWay {
public:
  /// Launches into `commands`. Each frame carries the orders to pin and unpin
  /// pages that the ledger then has.
  FramesUnderWay(const HeadLimits &limits, HeadCommands &commands,
                 PageLedger &ledger);

  /// Launches an empty frame.
  StepFrame &launch();
  /// Frames launched so far.
  uint64_t sent() const { return framesSent; }
  /// The first so many of them are known to have passed all stages.
  uint64_t gone() const { return framesGone; }
  /// Returns whether `frames` more may be under way.
  bool hasRoom(uint64_t frames = 1) const {
    return framesSent - framesGone + frames <= maxFrames;
  }

  /// These two note that the newest frame has so many rows of generating
  /// requests, or of prompts, whose positions add up to `positions`.
  void addCertainRows(int64_t rows, int64_t positions);
  void addPromptRows(int64_t rows, int64_t positions);
  /// Returns how many frames with rows of prompts are under way.
  int64_t countPrompts() const;
  /// Returns how many frames with rows of generating requests are under way.
  int64_t countCertain() const;
  /// Returns how many frames with either are under way.
  int64_t countAll() const { return std::ssize(frames); }

  /// A step that all stages made of exactly the same rows.
  struct MeasuredStep {
    int64_t rows = 0;
    int64_t positions = 0; ///< the sum over these rows
    Time took{0};          ///< at the slowest stage
  };
  /// Returns the step that the answer is about, if each stage made one step of
  /// exactly the frames that return with it.
  std::optional<MeasuredStep> measure(const ResultFrame &answer) const;
  /// Notes that the first `count` frames have passed all stages.
  void noteGone(uint64_t count);

private:
  /// A frame with certain rows.
  struct Frame {
    uint64_t step = 0;
    bool hasPrompt = false;
    bool hasOthers = false;
    int64_t rows = 0;
    int64_t positions = 0; ///< the sum over all its rows
  };

  Frame &addRows(int64_t rows, int64_t positions);
  std::vector<Frame>::const_iterator findFirstFrom(uint64_t step) const;

  HeadCommands &commands;
  PageLedger &ledger;
  uint64_t maxFrames;
  uint64_t framesSent = 0;
  uint64_t framesGone = 0;
  std::vector<Frame> frames; ///< under way, the oldest first
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_FRAMESUNDERWAY_H
