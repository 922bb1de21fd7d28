//===- HeadStatus.h - how the serving of requests stands ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_HEADSTATUS_H
#define SLUICE_RUNTIME_PIPELINE_HEADSTATUS_H

#include "runtime/core/Head.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::pipeline {

/// What a stage, or the draft, has done. Counters.
struct StageTotals {
  int64_t steps = 0;        ///< with at least one row
  int64_t rows = 0;         ///< that they began with
  int64_t departed = 0;     ///< of them, dead at checkpoints
  int64_t busyNanos = 0;    ///< computing
  int64_t longestNanos = 0; ///< of one step; no counter

  void add(const StageTiming &timing);
};

/// How the serving of requests stands: what metrics and the live picture are
/// made from. Counters only rise.
struct HeadStatus {
  int64_t running = 0, waiting = 0, preempted = 0; ///< requests
  int64_t preemptions = 0;                         ///< counter
  int64_t pages = 0;         ///< of each stage's cache, guesses' apart
  int64_t pagesUsed = 0;     ///< of them, by requests
  int64_t pagesPinned = 0;   ///< shared prefixes, in use or not
  int64_t prefixQueries = 0; ///< counter: tokens of prompts
  int64_t prefixHits = 0;    ///< counter: of them, found in the cache
  SpeculationCounters speculation;

  int64_t promptRows = 0;  ///< counter: rows sent to the first stage, by kind
  int64_t certainRows = 0; ///< counter
  int64_t guessRows = 0;   ///< counter

  int64_t maxRows = 0;     ///< of a step that was sent to the first stage
  int64_t maxRowsDone = 0; ///< of a step that has come back

  std::vector<StageTotals> stages;  ///< in order; empty before the first step
  std::optional<StageTotals> draft; ///< once it has answered

  /// Steps of the last stage, and the rows of the newest: of the last one at
  /// (steps - 1) % stepRows.size().
  int64_t steps = 0; ///< counter
  std::array<int32_t, 256> stepRows{};

  int64_t notFinite = 0; ///< counter: answers whose logits were not finite
  /// Frames of the newest answers that had such, without a good answer among
  /// them; no counter. Choices of one prompt come together.
  int64_t notFiniteInARow = 0;
  std::string firstNotFinite; ///< of those in a row: the error

  void noteLaunch(const StepFrame &frame);
  /// Of a step that has come back, the first stage's first.
  void noteStep(std::span<const StageTiming> timings);
  /// What the last stage has answered.
  void noteAnswers(std::span<const ResultRow> answers);
  /// Of the draft's answer.
  void noteDraft(const StageTiming &timing);
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_HEADSTATUS_H
