//===- SeedsTest.cpp - many runs with faults ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/FaultScenario.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

namespace {

TEST(SeedsTest, TwoThousandRunsWithFaultsEndWell) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SimulationConfig config = makeScenario(seed, /*faults=*/true);
    Expected<SimulationResult> result = simulate(config);
    ASSERT_TRUE(result) << "sluice-sim --faults --seed " << seed << ": "
                        << result.status().message() << " ("
                        << describeScenario(config) << ")";
  }
}

// The events that the scenarios are made for do occur in them.
TEST(SeedsTest, ScenariosPreemptShareAndRunOutOfTime) {
  int64_t preempted = 0, shared = 0, timeouts = 0, cancelled = 0, cut = 0;
  int64_t prefixWaits = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Expected<SimulationResult> result = simulate(makeScenario(seed, true));
    ASSERT_TRUE(result) << seed << ": " << result.status().message();
    preempted += result->preemptions > 0;
    shared += result->foundTokens > 0;
    cut += result->shortChunks > 0;
    prefixWaits += result->prefixWaits > 0;
    for (const RequestOutcome &request : result->requests) {
      timeouts += request.reason == FinishReason::Timeout;
      cancelled += request.reason == FinishReason::Cancelled;
    }
  }
  EXPECT_GE(preempted, 20);
  EXPECT_GE(shared, 20);
  EXPECT_GE(cut, 20);
  EXPECT_GE(prefixWaits, 20);
  EXPECT_GE(timeouts, 20);
  EXPECT_GE(cancelled, 100);
}

TEST(SeedsTest, AScenarioIsAFunctionOfItsSeed) {
  for (uint64_t seed : {5u, 6u, 7u, 8u}) {
    Expected<SimulationResult> one = simulate(makeScenario(seed, true));
    Expected<SimulationResult> two = simulate(makeScenario(seed, true));
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->end, two->end);
    EXPECT_EQ(one->events, two->events);
    EXPECT_EQ(one->speculation.launched, two->speculation.launched);
    ASSERT_EQ(one->requests.size(), two->requests.size());
    for (size_t i = 0; i < one->requests.size(); ++i)
      EXPECT_EQ(one->requests[i].tokens, two->requests[i].tokens);
  }
}

TEST(SeedsTest, FaultsChangeTheScheduleAndNotTheTokens) {
  int otherSchedules = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimulationConfig faulty = makeScenario(seed, true);
    SimulationConfig calm = makeScenario(seed, false);
    // Users who cancel do so at a time, not at a token, and deadlines are times
    // as well.
    for (SimulationConfig *config : {&faulty, &calm})
      for (SimRequest &request : config->requests) {
        request.cancelled.reset();
        request.asked.deadline.reset();
      }
    Expected<SimulationResult> one = simulate(faulty);
    Expected<SimulationResult> two = simulate(calm);
    ASSERT_TRUE(one) << seed << ": " << one.status().message();
    ASSERT_TRUE(two) << seed << ": " << two.status().message();
    otherSchedules += one->end != two->end;
    for (size_t i = 0; i < one->requests.size(); ++i)
      EXPECT_EQ(one->requests[i].tokens, two->requests[i].tokens) << seed;
  }
  EXPECT_GT(otherSchedules, 25);
}

// The check itself must be able to fail.
TEST(SeedsTest, WrongAnswersAreFound) {
  int found = 0, wrong = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimulationConfig config = makeScenario(seed, false);
    for (SimRequest &request : config.requests) {
      request.cancelled.reset();
      request.asked.deadline.reset();
      request.asked.spec.stopTokens.clear();
      request.asked.spec.maxTokens = 3;
    }
    config.faults.wrongAnswers = 1;
    Expected<SimulationResult> result = simulate(config);
    ++wrong;
    found += !result &&
             result.status().message().find("token 0 is") != std::string::npos;
  }
  EXPECT_EQ(found, wrong);
}

} // namespace
