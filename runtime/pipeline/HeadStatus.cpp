//===- HeadStatus.cpp - counters and gauges of request serving ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/HeadStatus.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::pipeline;

void HeadStatus::noteLaunch(const StepFrame &frame) {
  maxRows = std::max(maxRows, std::ssize(frame.rows));
  for (const Row &row : frame.rows) {
    if (!row.certain)
      ++guessRows;
    else if (row.wantsOutput)
      ++certainRows;
    else
      ++promptRows;
  }
}

void StageTotals::add(const StageTiming &timing) {
  steps += timing.rows > 0;
  rows += timing.rows;
  departed += timing.departed;
  busyNanos += timing.busyNanos;
  longestNanos = std::max(longestNanos, timing.busyNanos);
}

void HeadStatus::noteStep(std::span<const StageTiming> timings) {
  stages.resize(std::max(stages.size(), timings.size()));
  for (size_t stage = 0; stage < timings.size(); ++stage)
    stages[stage].add(timings[stage]);
  if (timings.empty() || timings.back().rows == 0)
    return;
  maxRowsDone = std::max<int64_t>(maxRowsDone, timings.front().rows);
  stepRows[size_t(steps++) % stepRows.size()] = timings.back().rows;
}

void HeadStatus::noteAnswers(std::span<const ResultRow> answers) {
  const ResultRow *bad = nullptr;
  bool hasGood = false;
  for (const ResultRow &answer : answers) {
    notFinite += answer.isNotFinite;
    hasGood |= answer.error.empty();
    if (answer.isNotFinite && !bad)
      bad = &answer;
  }
  if (hasGood)
    notFiniteInARow = 0;
  else if (bad && ++notFiniteInARow == 1)
    firstNotFinite = bad->error;
}

void HeadStatus::noteDraft(const StageTiming &timing) {
  if (!draft)
    draft.emplace();
  draft->add(timing);
}
