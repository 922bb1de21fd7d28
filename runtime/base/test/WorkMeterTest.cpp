//===- WorkMeterTest.cpp --------------------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/WorkMeter.h"

#include "gtest/gtest.h"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

WorkMeter::Clock::time_point testTime;
WorkMeter::Clock::time_point testNow() { return testTime; }

TEST(WorkMeterTest, EndsBehindTheLastStepAndStaysSo) {
  WorkMeter meter({.steps = 10'000});
  size_t taken = 0;
  while (meter.charge())
    ++taken;
  EXPECT_EQ(taken, 10'000u);
  EXPECT_EQ(meter.end(), WorkMeter::End::Steps);
  EXPECT_TRUE(meter.endsAlways());
  EXPECT_FALSE(meter.charge());
  EXPECT_EQ(meter.status().message(), "it takes more than 10000 steps");
}

TEST(WorkMeterTest, CountsStepsOfEverySize) {
  WorkMeter meter({.steps = 1'000'000});
  size_t sum = 0;
  for (size_t steps : {1u, 0u, 5'000u, 4'096u, 3u, 100'000u}) {
    EXPECT_TRUE(meter.charge(steps));
    sum += steps;
    EXPECT_EQ(meter.steps(), sum);
  }
  EXPECT_FALSE(meter.charge(1'000'000));
}

TEST(WorkMeterTest, LooksAtTheClock) {
  testTime = {};
  WorkMeter meter({.time = 4s}, {}, testNow);
  EXPECT_TRUE(meter.charge());
  testTime += 4s;
  size_t taken = 0;
  while (meter.charge())
    ++taken;
  EXPECT_LT(taken, 1u << 13);
  EXPECT_EQ(meter.end(), WorkMeter::End::Time);
  EXPECT_FALSE(meter.endsAlways());
  EXPECT_EQ(meter.spend().message(), "it takes more than 4 s");
}

TEST(WorkMeterTest, EndsWhenNobodyWaits) {
  bool isUnwanted = false;
  WorkMeter meter({}, [&] { return isUnwanted; });
  EXPECT_TRUE(meter.charge(100'000));
  isUnwanted = true;
  EXPECT_FALSE(meter.charge(100'000));
  EXPECT_EQ(meter.end(), WorkMeter::End::Unwanted);
  EXPECT_FALSE(meter.endsAlways());
}

TEST(WorkMeterTest, EndsWhereItHoldsTooMuch) {
  WorkMeter meter({.bytes = 3 << 20});
  {
    HeldBytes part(meter);
    EXPECT_TRUE(part.add(2 << 20));
    EXPECT_EQ(meter.heldBytes(), 2u << 20);
    HeldBytes moved = std::move(part);
    EXPECT_EQ(meter.heldBytes(), 2u << 20);
  }
  EXPECT_EQ(meter.heldBytes(), 0u);
  EXPECT_TRUE(meter.hold(2 << 20));
  EXPECT_TRUE(meter.charge());
  EXPECT_FALSE(meter.hold(2 << 20));
  EXPECT_FALSE(meter.charge());
  EXPECT_EQ(meter.peakBytes(), 4u << 20);
  EXPECT_EQ(meter.status().message(), "it takes more than 3 MiB of memory");
}

TEST(WorkMeterTest, TheFirstReasonCounts) {
  bool isUnwanted = false;
  WorkMeter meter({.steps = 10}, [&] { return isUnwanted; });
  EXPECT_FALSE(meter.charge(11));
  isUnwanted = true;
  EXPECT_FALSE(meter.charge(10'000));
  EXPECT_EQ(meter.end(), WorkMeter::End::Steps);
}

} // namespace
