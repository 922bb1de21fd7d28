//===- FaultsTest.cpp - rates and reproducibility -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Faults.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

namespace {

TEST(RandomStreamTest, IsAFunctionOfItsSeed) {
  FaultRandom a(7), b(7), c(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    uint32_t drawn = a.bits();
    EXPECT_EQ(drawn, b.bits());
    differs |= drawn != c.bits();
  }
  EXPECT_TRUE(differs);
}

TEST(RandomStreamTest, StaysInRangeAndReachesItsEnds) {
  FaultRandom random(1);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    int64_t drawn = random.between(-2, 3);
    ASSERT_GE(drawn, -2);
    ASSERT_LE(drawn, 3);
    low |= drawn == -2;
    high |= drawn == 3;
    double share = random.uniform();
    ASSERT_GE(share, 0);
    ASSERT_LT(share, 1);
    ASSERT_LE(random.upTo(Time(10)), Time(10));
  }
  EXPECT_TRUE(low && high);
}

TEST(FaultsTest, WithoutRatesNothingGoesWrong) {
  Faults faults({}, 3);
  for (int i = 0; i < 100; ++i) {
    Faults::Passage passage = faults.passage();
    EXPECT_EQ(passage.delay, Time(0));
    EXPECT_EQ(passage.copies, 1);
    EXPECT_FALSE(passage.overtakes);
    EXPECT_EQ(faults.stepFactor(), 1);
    EXPECT_FALSE(faults.crash());
    EXPECT_FALSE(faults.wrongAnswer());
    EXPECT_FALSE(faults.guessesComeLate());
    EXPECT_FALSE(faults.deadlineIsForgotten());
    Faults::Copies copies = faults.cancelCopies();
    EXPECT_EQ(copies.count, 1);
    EXPECT_EQ(copies.delays[0], Time(0));
    EXPECT_FALSE(copies.overtake);
  }
}

TEST(FaultsTest, RatesAreKept) {
  FaultRates rates;
  rates.delayedMessages = 0.25;
  rates.messageDelay = Time(1000);
  rates.slowSteps = 0.5;
  rates.slowFactor = 4;
  rates.lostCancels = 0.2;
  rates.repeatedCancels = 0.5;
  rates.lateCancels = 0.5;
  rates.cancelDelay = Time(500);
  Faults faults(rates, 4);
  constexpr int draws = 20000;
  int delayed = 0, slow = 0, lost = 0, twice = 0, late = 0;
  for (int i = 0; i < draws; ++i) {
    Time delay = faults.passage().delay;
    ASSERT_LT(delay, Time(1000));
    delayed += delay > Time(0);
    double factor = faults.stepFactor();
    ASSERT_GE(factor, 1);
    ASSERT_LT(factor, 4);
    slow += factor > 1;
    Faults::Copies copies = faults.cancelCopies();
    lost += copies.count == 0;
    twice += copies.count == 2;
    late += copies.delays[0] > Time(0);
  }
  EXPECT_NEAR(delayed, draws * 0.25, draws * 0.02);
  EXPECT_NEAR(slow, draws * 0.5, draws * 0.02);
  EXPECT_NEAR(lost, draws * 0.2, draws * 0.02);
  EXPECT_NEAR(twice, draws * 0.8 * 0.5, draws * 0.02);
  EXPECT_NEAR(late, draws * 0.8 * 0.5, draws * 0.02);
}

TEST(FaultsTest, MessagesAreLostOrComeTwiceAtTheirRates) {
  FaultRates rates;
  rates.lostMessages = 0.25;
  rates.repeatedMessages = 0.5;
  rates.crashes = 0.5;
  rates.crashesUntil = Time(1000);
  Faults faults(rates, 4);
  constexpr int draws = 20000;
  int lost = 0, twice = 0, crashed = 0;
  for (int i = 0; i < draws; ++i) {
    int copies = faults.passage().copies;
    lost += copies == 0;
    twice += copies == 2;
    if (std::optional<Time> at = faults.crash()) {
      ++crashed;
      ASSERT_LT(*at, Time(1000));
    }
  }
  EXPECT_NEAR(lost, draws * 0.25, draws * 0.02);
  EXPECT_NEAR(twice, draws * 0.75 * 0.5, draws * 0.02);
  EXPECT_NEAR(crashed, draws * 0.5, draws * 0.02);
}

} // namespace
