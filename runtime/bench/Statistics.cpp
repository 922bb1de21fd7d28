//===- Statistics.cpp - means and percentiles -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace sluice;
using namespace sluice::bench;

double bench::percentile(std::span<const double> sorted, double percent) {
  double place = static_cast<double>(sorted.size() - 1) * (percent / 100);
  auto below = static_cast<size_t>(place);
  size_t above = std::min(below + 1, sorted.size() - 1);
  double share = place - std::floor(place);
  double low = sorted[below], high = sorted[above];
  // Computed from the nearer end, as in numpy, so that both ends are exact.
  return share < 0.5 ? low + (high - low) * share
                     : high - (high - low) * (1 - share);
}

Statistics bench::describe(std::vector<double> values) {
  if (values.empty())
    return {};
  std::sort(values.begin(), values.end());
  double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {values.size(),          sum / static_cast<double>(values.size()),
          percentile(values, 50), percentile(values, 90),
          percentile(values, 99), values.back()};
}
