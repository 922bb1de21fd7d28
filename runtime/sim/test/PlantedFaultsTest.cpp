//===- PlantedFaultsTest.cpp - each invariant is needed -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plants faults in runs whose tokens are right all the same. The violated
// invariant finds each fault; if the invariant is not checked, the run
// succeeds.
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Simulation.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

using std::chrono::milliseconds;

namespace {

/// Three stages and a draft whose guesses never come true, so that nothing
/// waits for a guess, whatever happens to it.
SimulationConfig wrongGuesses() {
  SimulationConfig config;
  config.stages.assign(3, {.byRows = {milliseconds(10)},
                           .byOutputs = {},
                           .maxStretch = milliseconds(1)});
  config.draftModel = {.byRows = {milliseconds(1)},
                       .byOutputs = {},
                       .maxStretch = milliseconds(1)};
  config.links.assign(16, {milliseconds(1), 0});
  config.head.contextLength = 256;
  config.head.prefillRows = 32;
  config.acceptance = 0;
  // The policy must not find that out.
  config.confidence = OracleConfidence::Uninformative;
  config.speculation.width = 2;
  SimRequest request;
  request.asked.spec.prompt = {1, 2, 3, 4};
  request.asked.spec.maxTokens = 50;
  config.requests.push_back(request);
  setLimits(config);
  return config;
}

void expectFound(const SimulationConfig &config, const std::string &what) {
  Expected<SimulationResult> result = simulate(config);
  ASSERT_FALSE(result);
  EXPECT_NE(result.status().message().find(what), std::string::npos)
      << result.status().message();
}

/// Expects that the run with the planted fault gives the right tokens.
void expectUnseen(const SimulationConfig &config) {
  Expected<SimulationResult> result = simulate(config);
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_EQ(result->requests[0].tokens.size(), 50u);
}

TEST(PlantedFaultsTest, GuessesOutOfTurn) {
  SimulationConfig config = wrongGuesses();
  // Frames are not fused, so that there is an order to violate.
  config.stageLimits.fuse = false;
  config.faults.lateGuesses = 0.3;
  expectFound(config, "has come out of turn");
  config.checkTurns = false;
  expectUnseen(config);
}

TEST(PlantedFaultsTest, CancelsThatOvertake) {
  SimulationConfig config = wrongGuesses();
  // Cancels of several requests follow each other within a link's latency.
  config.head.requests = 4;
  config.requests.resize(4, config.requests[0]);
  for (size_t i = 0; i < 4; ++i)
    config.requests[i].asked.spec.prompt[0] = static_cast<int32_t>(i);
  for (LinkTimes &link : config.links)
    link.latency = milliseconds(10);
  setLimits(config);
  config.faults.overtakingCancels = 0.3;
  expectFound(config, "cancels to rank");
  config.checkOrder = false;
  expectUnseen(config);
}

/// The ranks themselves notice overtaken frames as if they were lost. A run
/// that breaks off without a loss fails.
TEST(PlantedFaultsTest, FramesThatOvertake) {
  SimulationConfig config = wrongGuesses();
  for (LinkTimes &link : config.links)
    link.latency = milliseconds(10);
  config.faults.overtakingMessages = 0.3;
  expectFound(config, "was overtaken by message");
  config.checkOrder = false;
  expectFound(config, "is due: ");
}

/// The request has started, and its tokens are right.
TEST(PlantedFaultsTest, DeadlinesThatAreForgotten) {
  SimulationConfig config = wrongGuesses();
  config.requests[0].asked.deadline = milliseconds(500);
  Expected<SimulationResult> right = simulate(config);
  ASSERT_TRUE(right) << right.status().message();
  EXPECT_EQ(right->requests[0].reason, FinishReason::Timeout);
  EXPECT_GT(right->requests[0].tokens.size(), 0u);
  config.faults.forgottenDeadlines = 1;
  expectFound(config, "after its deadline");
  config.checkDeadlines = false;
  expectUnseen(config);
}

} // namespace
