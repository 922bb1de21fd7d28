//===- Statistics.h - means and percentiles -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_STATISTICS_H
#define SLUICE_RUNTIME_BENCH_STATISTICS_H

#include <cstddef>
#include <span>
#include <vector>

namespace sluice::bench {

struct Statistics {
  size_t count = 0; ///< if 0, all others are 0
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
};

/// Returns the value below which `percent` of `sorted` lie, linearly
/// interpolated, as numpy.percentile does by default. `sorted` must not be
/// empty.
double percentile(std::span<const double> sorted, double percent);

Statistics describe(std::vector<double> values);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_STATISTICS_H
