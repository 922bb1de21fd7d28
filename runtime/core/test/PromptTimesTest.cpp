//===- PromptTimesTest.cpp - the times of steps with prompt rows ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PromptTimes.h"

#include <array>
#include <gtest/gtest.h>

using namespace sluice;

namespace {

using Micros = std::chrono::microseconds;

PromptTimes predicted() {
  std::array<Time, StepTimes::rowCounts.size()> steps;
  for (size_t i = 0; i < steps.size(); ++i)
    steps[i] = Micros(1000 + 50 * StepTimes::rowCounts[i]);
  return PromptTimes(StepTimes(steps));
}

TEST(PromptTimesTest, ArePredictedByRowsUntilTheyAreMeasured) {
  PromptTimes times = predicted();
  EXPECT_EQ(times.get(8, 0), Micros(1400));
  EXPECT_EQ(times.get(8, 100000), Micros(1400));
  times.measure(0, 0, Micros(5));
  times.measure(8, 100, Time(0));
  EXPECT_EQ(times.get(8, 0), Micros(1400)) << "nothing was measured";
}

/// 64 rows from position 0 on, again and again, while other requests make small
/// steps.
TEST(PromptTimesTest, RowsAndPositionsAreToldApart) {
  PromptTimes times = predicted();
  auto step = [](int64_t rows, int64_t positions) {
    return Micros(1000) + rows * Micros(50) + Time(positions * 100);
  };
  for (int round = 0; round < 3; ++round)
    for (int64_t at = 0; at < 2048; at += 64) {
      int64_t positions = 64 * at + 32 * 63;
      Time is = step(64, positions), said = times.get(64, positions);
      if (round > 0 || at >= 256) {
        EXPECT_LE(said, is * 115 / 100) << at;
        EXPECT_GE(said, is * 85 / 100) << at;
      }
      times.measure(64, positions, is);
      times.measure(2, 2 * at, step(2, 2 * at));
    }
  EXPECT_LE(times.get(64, 0), step(64, 0) * 115 / 100);
  EXPECT_GE(times.get(64, 0), step(64, 0) * 85 / 100);
}

TEST(PromptTimesTest, AStepThatWasHeldUpIsForgotten) {
  PromptTimes times = predicted();
  for (int64_t at = 0; at < 64; ++at)
    times.measure(16, 1000 * at, Micros(1800 + 10 * at));
  times.measure(16, 64000, Micros(20000));
  for (int64_t at = 0; at < 64; ++at)
    times.measure(16, 1000 * at, Micros(1800 + 10 * at));
  EXPECT_NEAR(static_cast<double>(times.get(16, 60000).count()), 2400e3, 120e3);
}

} // namespace
