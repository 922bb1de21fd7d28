//===- MetricsTest.cpp - Prometheus' text format --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected texts are what the format's description says (Prometheus'
// "Exposition formats"); Prometheus' own parser (prometheus_client 0.26) reads
// them back as the values that went in.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Metrics.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <thread>
#include <vector>

using namespace sluice::serve;

TEST(Metrics, CountersAndGauges) {
  MetricRegistry registry;
  registry.counter("b_total", "B so far.").add(3);
  registry.counter("b_total", "another help").add();
  registry.gauge("a", "A now.").set(0.25);
  EXPECT_EQ(registry.text(), "# HELP a A now.\n"
                             "# TYPE a gauge\n"
                             "a 0.25\n"
                             "# HELP b_total B so far.\n"
                             "# TYPE b_total counter\n"
                             "b_total 4\n");
}

TEST(Metrics, LabelsAreEscapedAndTheCommonOnesComeFirst) {
  MetricRegistry registry({{"model", "a\"b\\c\nd"}});
  registry.counter("x_total", "Back\\slash and\nline, \"quoted\".",
                   {{"reason", "stop"}});
  registry.counter("x_total", "", {{"reason", "length"}}).add(2);
  EXPECT_EQ(registry.text(),
            "# HELP x_total Back\\\\slash and\\nline, \"quoted\".\n"
            "# TYPE x_total counter\n"
            "x_total{model=\"a\\\"b\\\\c\\nd\",reason=\"length\"} 2\n"
            "x_total{model=\"a\\\"b\\\\c\\nd\",reason=\"stop\"} 0\n");
}

TEST(Metrics, BucketsAddUpAndABoundBelongsBelow) {
  MetricRegistry registry;
  Histogram &histogram =
      registry.histogram("t_seconds", "T.", {0.1, 1}, {{"k", "v"}});
  for (double value : {0.05, 0.1, 0.5, 7.0})
    histogram.observe(value);
  histogram.observe(std::nan(""));
  EXPECT_EQ(histogram.count(), 4u);
  EXPECT_EQ(registry.text(), "# HELP t_seconds T.\n"
                             "# TYPE t_seconds histogram\n"
                             "t_seconds_bucket{k=\"v\",le=\"0.1\"} 2\n"
                             "t_seconds_bucket{k=\"v\",le=\"1\"} 3\n"
                             "t_seconds_bucket{k=\"v\",le=\"+Inf\"} 4\n"
                             "t_seconds_sum{k=\"v\"} 7.65\n"
                             "t_seconds_count{k=\"v\"} 4\n");
}

TEST(Metrics, NumbersThatAreNone) {
  MetricRegistry registry;
  registry.gauge("a", "").set(std::nan(""));
  registry.gauge("b", "").set(std::numeric_limits<double>::infinity());
  registry.gauge("c", "").set(-std::numeric_limits<double>::infinity());
  registry.gauge("d", "").set(1e300);
  EXPECT_EQ(registry.text(), "# HELP a \n# TYPE a gauge\na NaN\n"
                             "# HELP b \n# TYPE b gauge\nb +Inf\n"
                             "# HELP c \n# TYPE c gauge\nc -Inf\n"
                             "# HELP d \n# TYPE d gauge\nd 1e+300\n");
}

TEST(Metrics, RaiseToNeverLowers) {
  Counter counter;
  counter.raiseTo(5);
  counter.raiseTo(3);
  EXPECT_EQ(counter.value(), 5u);
  counter.raiseTo(6);
  EXPECT_EQ(counter.value(), 6u);
}

TEST(Metrics, ThreadsCountTogether) {
  MetricRegistry registry;
  constexpr int threads = 4, times = 10000;
  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i)
    pool.emplace_back([&] {
      Counter &counter = registry.counter("n_total", "");
      Histogram &histogram = registry.histogram("h", "", {1, 2});
      for (int k = 0; k < times; ++k) {
        counter.add();
        histogram.observe(1.5);
        if (k % 1000 == 0)
          registry.text();
      }
    });
  for (std::thread &thread : pool)
    thread.join();
  EXPECT_EQ(registry.counter("n_total", "").value(), threads * times * 1u);
  EXPECT_EQ(registry.histogram("h", "", {1, 2}).count(), threads * times * 1u);
  EXPECT_EQ(registry.histogram("h", "", {1, 2}).sum(), threads * times * 1.5);
}
