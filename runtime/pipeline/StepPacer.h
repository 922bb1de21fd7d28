//===- StepPacer.h - steps as long as described ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emulation: a step lasts as long as on hardware that is only described.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_STEPPACER_H
#define SLUICE_RUNTIME_PIPELINE_STEPPACER_H

#include "runtime/cluster/CostModel.h"
#include "runtime/pipeline/Clock.h"

#include <thread>

namespace sluice::pipeline {

/// How long steps of one stage last, and where their checkpoints lie. Used by
/// the stage's thread.
class StepPacer {
public:
  /// A checkpoint at least every `maxLatency`, none if 0; rows attend to
  /// `context` positions.
  StepPacer(cluster::StageCost cost, int64_t context, Time maxLatency)
      : cost(std::move(cost)), context(context), maxLatency(maxLatency) {}

  /// Into how many stretches of equal length checkpoints cut a step: one more
  /// than there are checkpoints.
  int64_t stretches(int64_t rows, int64_t outputs) const {
    return cluster::stretchCount(cost.time({rows, outputs, context}),
                                 maxLatency);
  }

  /// How long one of `count` stretches takes with these rows.
  Time stretch(int64_t rows, int64_t outputs, int64_t count) const {
    return cost.time({rows, outputs, context}) / count;
  }

  void waitUntil(Time time) const {
    std::this_thread::sleep_until(toTimePoint(time));
  }

private:
  cluster::StageCost cost;
  int64_t context;
  Time maxLatency;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_STEPPACER_H
