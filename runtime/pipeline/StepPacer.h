//===- StepPacer.h - gives steps their described duration -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For emulation: makes a step last as long as it would on described hardware.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_STEPPACER_H
#define SLUICE_RUNTIME_PIPELINE_STEPPACER_H

#include "runtime/cluster/CostModel.h"
#include "runtime/pipeline/Clock.h"

#include <thread>

namespace sluice::pipeline {

/// Says how long steps of one stage last and where their checkpoints lie. The
/// rows are computed at the end of that time, after dead rows have left. Used
/// by the stage's thread.
class StepPacer {
public:
  /// There is a checkpoint at least every `maxLatency`; none if that is 0. Rows
  /// attend to `context` positions.
  StepPacer(cluster::StageCost cost, int64_t context, Time maxLatency)
      : cost(std::move(cost)), context(context), maxLatency(maxLatency) {
    std::array<Time, StepTimes::rowCounts.size()> first;
    first.fill(std::chrono::microseconds(200));
    here = StepTimes(first);
  }

  /// Returns into how many stretches of equal length checkpoints divide a step:
  /// one more than there are checkpoints.
  int64_t stretches(int64_t rows, int64_t outputs) const {
    return cluster::stretchCount(cost.time({rows, outputs, context}),
                                 maxLatency);
  }

  /// Returns how long one of `count` stretches takes with these rows.
  Time stretch(int64_t rows, int64_t outputs, int64_t count) const {
    return cost.time({rows, outputs, context}) / count;
  }

  /// Returns how long this machine's device needs for a step of `rows` rows,
  /// according to the measurements so far. The worker starts to compute this
  /// long before the described time ends, so that the step ends on time.
  Time computing(int64_t rows) const {
    return rows > 0 ? here.get(rows) : Time(0);
  }
  void computed(int64_t rows, Time took) {
    if (rows > 0)
      here.measure(rows, took);
  }

  void waitUntil(Time time) const {
    std::this_thread::sleep_until(toTimePoint(time));
  }

private:
  cluster::StageCost cost;
  int64_t context;
  Time maxLatency;
  StepTimes here;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_STEPPACER_H
