//===- StatisticsTest.cpp - means and percentiles -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace sluice::bench;

namespace {

struct Case {
  std::vector<double> values;
  std::vector<double> percentiles; // 0, 1, 25, 50, 90, 99, 100
};

/// The results of numpy.percentile of numpy 2.
TEST(StatisticsTest, AsNumpy) {
  const Case cases[] = {
      {{1}, {1, 1, 1, 1, 1, 1, 1}},
      {{1, 2}, {1, 1.01, 1.25, 1.5, 1.9, 1.99, 2}},
      {{3, 1, 2, 10}, {1, 1.03, 1.75, 2.5, 7.900000000000001, 9.79, 10}},
      {{0.1, 0.2, 0.3, 0.7, 1.9, 2.5, 40},
       {0.1, 0.10600000000000001, 0.25, 0.7, 17.500000000000014,
        37.74999999999998, 40}}};
  const double percents[] = {0, 1, 25, 50, 90, 99, 100};
  for (const Case &each : cases) {
    std::vector<double> sorted = each.values;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < 7; ++i)
      EXPECT_DOUBLE_EQ(percentile(sorted, percents[i]), each.percentiles[i]);
  }
}

TEST(StatisticsTest, Describes) {
  std::vector<double> values;
  for (int i = 1000; i >= 1; --i)
    values.push_back(std::pow(i, 1.5));
  Statistics statistics = describe(values);
  EXPECT_EQ(statistics.count, 1000u);
  EXPECT_DOUBLE_EQ(statistics.p50, 11197.118779792123);
  EXPECT_DOUBLE_EQ(statistics.p90, 27004.501249768615);
  EXPECT_DOUBLE_EQ(statistics.p99, 31150.09487379794);
  EXPECT_DOUBLE_EQ(statistics.max, std::pow(1000, 1.5));
  EXPECT_DOUBLE_EQ(describe({0.1, 0.2, 0.3, 0.7, 1.9, 2.5, 40}).mean,
                   6.528571428571429);
}

TEST(StatisticsTest, OfNothing) {
  Statistics statistics = describe({});
  EXPECT_EQ(statistics.count, 0u);
  EXPECT_EQ(statistics.p99, 0);
}

} // namespace
