//===- LatencyHistogram.h - counts durations for percentiles --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts any number of durations, so that percentiles can be asked for at the
// end.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_LATENCYHISTOGRAM_H
#define SLUICE_RUNTIME_PIPELINE_LATENCYHISTOGRAM_H

#include "runtime/core/Rows.h"

#include <vector>

namespace sluice::pipeline {

struct LatencyReport {
  int64_t count = 0;
  double p50Micros = 0, p99Micros = 0, maxMicros = 0;
};

/// Counts each duration in a bucket of its size. Percentiles are within 1 % of
/// the exact ones; the maximum is exact. Allocates nothing while it counts.
class LatencyHistogram {
public:
  LatencyHistogram();

  /// Adds a duration; a negative one counts as 0.
  void add(Time latency);

  /// Returns the percentiles; all are zero if nothing was added.
  LatencyReport summarize() const;

private:
  double percentileMicros(double share) const;

  std::vector<uint64_t> counts; ///< by bucket
  int64_t total = 0;
  Time longest{0};
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_LATENCYHISTOGRAM_H
