//===- HeadStatus.h - counters and gauges of request serving --------------===//
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

/// Counters of what a stage, or the draft, has done.
struct StageTotals {
  int64_t steps = 0;        ///< with at least one row
  int64_t rows = 0;         ///< at the start of steps
  int64_t departed = 0;     ///< of these, rows that left at checkpoints
  int64_t busyNanos = 0;    ///< time spent computing
  int64_t longestNanos = 0; ///< of the longest step; a gauge

  void add(const StageTiming &timing);
};

/// A snapshot of request serving, from which metrics and the live page are
/// made. Members marked "counter" only increase.
struct HeadStatus {
  int64_t running = 0, waiting = 0, preempted = 0; ///< requests
  int64_t preemptions = 0;                         ///< counter
  int64_t pages = 0;       ///< of each stage's cache, without those for guesses
  int64_t pagesUsed = 0;   ///< of these, pages of requests
  int64_t pagesPinned = 0; ///< pages of shared prefixes, in use or not
  int64_t prefixQueries = 0; ///< counter: tokens of prompts
  int64_t prefixHits = 0;    ///< counter: of these, tokens found in the cache
  SpeculationCounters speculation;

  int64_t promptRows = 0;  ///< counters: rows sent to the first stage, by kind
  int64_t certainRows = 0; ///< counter
  int64_t guessRows = 0;   ///< counter

  int64_t maxRows = 0;     ///< largest step sent to the first stage
  int64_t maxRowsDone = 0; ///< largest step that has come back

  std::vector<StageTotals> stages;  ///< in order; empty before the first step
  std::optional<StageTotals> draft; ///< empty before its first answer

  /// The number of steps of the last stage, and the rows of the newest steps;
  /// those of the last one are at (steps - 1) % stepRows.size().
  int64_t steps = 0; ///< counter
  std::array<int32_t, 256> stepRows{};

  int64_t notFinite = 0; ///< counter: answers whose logits were not finite
  /// How many of the newest answer frames had such answers and no good one; a
  /// gauge. It counts frames, because all choices of one prompt come together.
  int64_t notFiniteInARow = 0;
  std::string firstNotFinite; ///< the first error of these frames

  void noteLaunch(const StepFrame &frame);
  /// Takes the timings of a step that has come back, in the order of the
  /// stages.
  void noteStep(std::span<const StageTiming> timings);
  /// Takes answers of the last stage.
  void noteAnswers(std::span<const ResultRow> answers);
  /// Takes the timing of the draft's answer.
  void noteDraft(const StageTiming &timing);
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_HEADSTATUS_H
