//===- WorkloadTest.cpp - the requests of a benchmark ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Workload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

using namespace sluice;
using namespace sluice::bench;

namespace {

WorkloadOptions optionsFor(Arrival arrival, double meanIntervalMs) {
  WorkloadOptions options;
  options.arrival = arrival;
  options.meanIntervalMs = meanIntervalMs;
  return options;
}

/// From a second implementation, in Python; arrivals to 10 ns, because its
/// logarithm may round differently.
TEST(WorkloadTest, GoldenValues) {
  WorkloadOptions options = optionsFor(Arrival::Poisson, 100);
  options.requests = 5;
  options.promptTokens = LengthDistribution(8);
  options.outputTokens = *LengthDistribution::parse("uniform:128:768");
  Workload workload = *makeWorkload(options);
  ASSERT_EQ(workload.size(), 5u);
  const std::tuple<int64_t, int64_t, uint64_t> expected[] = {
      {0, 651, 8838800281096249906u},
      {64607197, 446, 15360730965300374902u},
      {65433983, 698, 17209819385322094263u},
      {78913875, 143, 7464197706854071062u},
      {85235250, 480, 2113239742251604330u}};
  for (size_t i = 0; i < 5; ++i) {
    const auto &[arrival, output, seed] = expected[i];
    EXPECT_EQ(workload[i].index, i);
    EXPECT_NEAR(double(workload[i].arrival.count()), double(arrival), 10);
    EXPECT_EQ(workload[i].promptTokens, 8);
    EXPECT_EQ(workload[i].outputTokens, output);
    EXPECT_EQ(workload[i].seed, seed);
  }
  options = optionsFor(Arrival::Gamma, 10);
  options.burstiness = 0.5;
  options.seed = 7;
  workload = *makeWorkload(options);
  EXPECT_NEAR(double(workload[1].arrival.count()), 9540086, 10);
  EXPECT_NEAR(double(workload[2].arrival.count()), 9546669, 10);
  EXPECT_NEAR(double(workload[3].arrival.count()), 16865208, 10);
}

TEST(WorkloadTest, ARequestStaysWhatItIs) {
  WorkloadOptions options = optionsFor(Arrival::Poisson, 10);
  options.outputTokens = *LengthDistribution::parse("uniform:1:1000");
  options.requests = 10;
  Workload few = *makeWorkload(options);
  options.requests = 100;
  Workload many = *makeWorkload(options);
  for (size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].arrival, many[i].arrival);
    EXPECT_EQ(few[i].outputTokens, many[i].outputTokens);
    EXPECT_EQ(few[i].seed, many[i].seed);
  }
  options.seed = 1;
  EXPECT_NE((*makeWorkload(options))[1].arrival, many[1].arrival);
}

TEST(WorkloadTest, AllAndFixed) {
  Workload workload = *makeWorkload({});
  EXPECT_EQ(workload.size(), 32u);
  for (const BenchRequest &spec : workload)
    EXPECT_EQ(spec.arrival, Time(0));
  workload = *makeWorkload(optionsFor(Arrival::Fixed, 12.5));
  for (size_t i = 0; i < workload.size(); ++i)
    EXPECT_EQ(workload[i].arrival.count(), int64_t(i) * 12'500'000);
}

/// The gaps' coefficient of variation is 1 / sqrt(burstiness).
TEST(WorkloadTest, GapsHaveTheirMoments) {
  for (double burstiness : {0.25, 1.0, 4.0}) {
    WorkloadOptions options = optionsFor(Arrival::Gamma, 5);
    options.burstiness = burstiness;
    options.requests = 50'001;
    Workload workload = *makeWorkload(options);
    double sum = 0, square = 0;
    for (size_t i = 1; i < workload.size(); ++i) {
      double gap =
          double((workload[i].arrival - workload[i - 1].arrival).count()) / 1e6;
      EXPECT_GE(gap, 0);
      sum += gap;
      square += gap * gap;
    }
    double mean = sum / 50'000;
    double deviation = std::sqrt(square / 50'000 - mean * mean);
    EXPECT_NEAR(mean, 5, 0.1);
    EXPECT_NEAR(deviation / mean, 1 / std::sqrt(burstiness), 0.03);
  }
}

TEST(WorkloadTest, WarmupHasTheSameLengthsAndOtherPrompts) {
  WorkloadOptions options = optionsFor(Arrival::Poisson, 1000);
  options.promptTokens = LengthDistribution(5);
  Workload warmup = *makeWarmup(options, 3);
  Workload workload = *makeWorkload(options);
  ASSERT_EQ(warmup.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(warmup[i].arrival, Time(0));
    EXPECT_EQ(warmup[i].promptTokens, 5);
    EXPECT_NE(warmup[i].seed, workload[i].seed);
  }
}

TEST(WorkloadTest, FromATrace) {
  std::string path = testing::TempDir() + "/workload-trace.csv";
  std::ofstream(path) << "0,10,20\n5.5,11,21\n6,12,22\n";
  WorkloadOptions options;
  options.traceFile = path;
  Workload workload = *makeWorkload(options);
  ASSERT_EQ(workload.size(), 3u);
  EXPECT_EQ(workload[1].arrival, Time(5'500'000));
  EXPECT_EQ(workload[1].promptTokens, 11);
  EXPECT_EQ(workload[2].outputTokens, 22);
  options.requests = 2;
  EXPECT_EQ(makeWorkload(options)->size(), 2u);
  options.traceFile += ".missing";
  EXPECT_FALSE(makeWorkload(options));
}

TEST(WorkloadTest, Refuses) {
  EXPECT_EQ(makeWorkload(optionsFor(Arrival::Poisson, 0)).status().message(),
            "these arrivals need a mean interval above 0");
  WorkloadOptions options = optionsFor(Arrival::Gamma, 1);
  options.burstiness = 0;
  EXPECT_EQ(makeWorkload(options).status().message(),
            "the burstiness must be above 0");
  EXPECT_EQ(makeWorkload(optionsFor(Arrival::Fixed, 2e10)).status().message(),
            "request 2 would come after more than a year");
}

} // namespace
