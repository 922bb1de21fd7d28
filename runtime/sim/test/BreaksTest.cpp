//===- BreaksTest.cpp - faults that a run does not survive ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages are lost or come twice, and ranks die: every request ends, and its
// tokens up to then are right.
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/FaultScenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

using std::chrono::milliseconds;
using testing::HasSubstr;

namespace {

/// Three stages on ranks of their own, and two requests, one of which comes
/// late.
SimulationConfig plainPipeline() {
  SimulationConfig config;
  config.stages.assign(3, {.byRows = {milliseconds(10)},
                           .byOutputs = {},
                           .maxStretch = milliseconds(1)});
  config.placement = SimPlacement::None;
  config.links.assign(9, {milliseconds(1), 0});
  config.head.requests = 2;
  config.head.contextLength = 256;
  config.head.prefillRows = 32;
  config.head.quiet = milliseconds(200);
  config.silence = milliseconds(300);
  config.speculation.mode = SpeculationMode::Off;
  SimRequest request;
  request.asked.spec.prompt = {1, 2, 3, 4};
  request.asked.spec.maxTokens = 100;
  config.requests.assign(2, request);
  config.requests[1].arrives = std::chrono::seconds(60);
  setLimits(config);
  return config;
}

SimulationResult run(const SimulationConfig &config) {
  Expected<SimulationResult> result = simulate(config);
  EXPECT_TRUE(result) << result.status().message();
  return result ? result.take() : SimulationResult();
}

/// Returns the run of the first seed that breaks off before its first request
/// ends.
SimulationResult runUntilBroken(SimulationConfig &config) {
  for (config.faultSeed = 1; config.faultSeed < 100; ++config.faultSeed) {
    SimulationResult result = run(config);
    if (!result.broken.ok() &&
        result.requests[0].reason == FinishReason::Error &&
        !result.requests[0].tokens.empty())
      return result;
  }
  ADD_FAILURE() << "no run has broken off";
  return {};
}

TEST(BreaksTest, ALostMessageEndsAllRequests) {
  SimulationConfig config = plainPipeline();
  config.faults.lostMessages = 0.01;
  SimulationResult result = runUntilBroken(config);
  EXPECT_THAT(result.broken.message(), HasSubstr(" is due: "));
  EXPECT_THAT(result.broken.message(), HasSubstr(" lost"));
  EXPECT_GT(result.breaks.lost, 0);
  EXPECT_LT(result.requests[0].tokens.size(), 100u);
  EXPECT_EQ(result.requests[1].reason, FinishReason::Error)
      << "it comes when all is over";
}

/// With one request at a time, no frame follows the lost one.
TEST(BreaksTest, WithoutFramesThatFollowNobodyMissesTheLastOne) {
  SimulationConfig config = plainPipeline();
  config.requests.pop_back();
  config.faults.lostMessages = 0.01;
  runUntilBroken(config);
  config.head.quiet = Time(0);
  Expected<SimulationResult> result = simulate(config);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().message(), "request 0: ended 0 times");
}

TEST(BreaksTest, AMessageThatComesTwiceEndsAllRequests) {
  SimulationConfig config = plainPipeline();
  config.faults.repeatedMessages = 0.01;
  SimulationResult result = runUntilBroken(config);
  EXPECT_THAT(result.broken.message(), HasSubstr(" has come again: "));
  EXPECT_GT(result.breaks.repeated, 0);
}

TEST(BreaksTest, ARankThatDiesIsMissedOnceItHasBeenSilent) {
  SimulationConfig config = plainPipeline();
  config.faults.crashes = 0.5;
  config.faults.crashesUntil = milliseconds(1000);
  SimulationResult result = runUntilBroken(config);
  EXPECT_THAT(result.broken.message(), HasSubstr(" does not answer"));
  EXPECT_GT(result.breaks.crashed, 0);
}

/// The head's rank does not die, because a dead head could not end the
/// requests.
TEST(BreaksTest, TheHeadsRankDoesNotDie) {
  SimulationConfig config = plainPipeline();
  config.stages.resize(1);
  config.links.resize(1);
  setLimits(config);
  config.faults.crashes = 1;
  config.faults.crashesUntil = milliseconds(100);
  SimulationResult result = run(config);
  EXPECT_EQ(result.breaks.crashed, 0);
  EXPECT_EQ(result.requests[0].tokens.size(), 100u);
}

TEST(BreaksTest, ThousandsOfScenariosEndEveryRequest) {
  int64_t lost = 0, repeated = 0, crashed = 0, errors = 0, survived = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SimulationConfig config = makeScenario(seed, seed % 2 == 0, true);
    Expected<SimulationResult> result = simulate(config);
    ASSERT_TRUE(result) << "sluice-sim --breaks"
                        << (seed % 2 == 0 ? " --faults" : "") << " --seed "
                        << seed << ": " << result.status().message() << " ("
                        << describeScenario(config) << ")";
    lost += result->breaks.lost > 0;
    repeated += result->breaks.repeated > 0;
    crashed += result->breaks.crashed > 0;
    survived += result->broken.ok();
    for (const RequestOutcome &request : result->requests)
      errors += request.reason == FinishReason::Error;
  }
  EXPECT_GE(lost, 200);
  EXPECT_GE(repeated, 200);
  EXPECT_GE(crashed, 200);
  EXPECT_GE(survived, 200);
  EXPECT_GE(errors, 1000);
}

TEST(BreaksTest, AScenarioIsAFunctionOfItsSeed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimulationResult one = run(makeScenario(seed, true, true));
    SimulationResult two = run(makeScenario(seed, true, true));
    EXPECT_EQ(one.events, two.events);
    EXPECT_EQ(one.end, two.end);
    EXPECT_EQ(one.broken.message(), two.broken.message());
  }
}

/// The random numbers for these faults come from a stream of their own.
TEST(BreaksTest, AScenarioIsTheSameButForThem) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimulationConfig with = makeScenario(seed, true, true);
    SimulationConfig without = makeScenario(seed, true);
    EXPECT_EQ(describeScenario(with), describeScenario(without));
    with.faults.lostMessages = with.faults.repeatedMessages = 0;
    with.faults.crashes = 0;
    with.head.quiet = without.head.quiet;
    SimulationResult one = run(with), two = run(without);
    EXPECT_EQ(one.events, two.events);
    EXPECT_EQ(one.end, two.end);
  }
}

} // namespace
