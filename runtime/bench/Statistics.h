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
  size_t count = 0; ///< the others are 0 where this is
  double mean = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
};

/// The value below which `percent` of `sorted` lie, between two of them by
/// linear interpolation: numpy.percentile's default. `sorted` is not empty.
double percentile(std::span<const double> sorted, double percent);

Statistics describe(std::vector<double> values);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_STATISTICS_H
