//===- LatencyHistogramTest.cpp - percentiles of durations ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/LatencyHistogram.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

TEST(LatencyHistogramTest, NothingIsZero) {
  LatencyReport report = LatencyHistogram().summarize();
  EXPECT_EQ(report.count, 0);
  EXPECT_EQ(report.p99Micros, 0);
  EXPECT_EQ(report.maxMicros, 0);
}

TEST(LatencyHistogramTest, PercentilesAreWithinOnePercent) {
  for (int64_t scale : {1, 1000, 1'000'000, 1'000'000'000}) {
    LatencyHistogram histogram;
    for (int64_t i = 1; i <= 1000; ++i)
      histogram.add(Time(i * scale));
    LatencyReport report = histogram.summarize();
    double micros = double(scale) / 1000;
    EXPECT_NEAR(report.p50Micros, 500 * micros, 5 * micros);
    EXPECT_NEAR(report.p99Micros, 990 * micros, 9.9 * micros);
    EXPECT_DOUBLE_EQ(report.maxMicros, 1000 * micros);
  }
}

/// Durations that come late count too, above all the largest.
TEST(LatencyHistogramTest, CountsAllOfThem) {
  LatencyHistogram histogram;
  for (int i = 0; i < 100'000; ++i)
    histogram.add(std::chrono::microseconds(10));
  for (int i = 0; i < 200'000; ++i)
    histogram.add(std::chrono::microseconds(500));
  histogram.add(std::chrono::microseconds(123'457));
  LatencyReport report = histogram.summarize();
  EXPECT_EQ(report.count, 300'001);
  EXPECT_NEAR(report.p50Micros, 500, 5);
  EXPECT_EQ(report.maxMicros, 123'457);
}

TEST(LatencyHistogramTest, TakesAnyTime) {
  LatencyHistogram histogram;
  histogram.add(Time(-5));
  EXPECT_EQ(histogram.summarize().p50Micros, 0);
  histogram.add(Time::max());
  EXPECT_EQ(histogram.summarize().maxMicros, double(Time::max().count()) / 1e3);
  EXPECT_EQ(histogram.summarize().count, 2);
}

} // namespace
