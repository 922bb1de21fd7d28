//===- HeadStatus.cpp - how the serving of requests stands ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/HeadStatus.h"

using namespace sluice;
using namespace sluice::pipeline;

void HeadStatus::noteLaunch(const StepFrame &frame) {
  for (const Row &row : frame.rows) {
    if (!row.certain)
      ++guessRows;
    else if (row.wantsOutput)
      ++certainRows;
    else
      ++promptRows;
  }
}

void HeadStatus::noteStep(std::span<const StageTiming> timings) {
  if (timings.empty() || timings.back().rows == 0)
    return;
  const StageTiming &last = timings.back();
  samples[size_t(steps++) % samples.size()] = {last.rows, last.left,
                                               last.busyNanos};
}
