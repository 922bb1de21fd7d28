//===- SimulationTest.cpp - whole runs ------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Simulation.h"

#include "runtime/sim/FaultScenario.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// Returns a pipeline of `stages` stages of 10 ms each, in which rows cost
/// nothing, with links of 1 ms.
SimulationConfig pipeline(int64_t stages, SpeculationMode mode) {
  SimulationConfig config;
  for (int64_t s = 0; s < stages; ++s)
    config.stages.push_back({.byRows = {milliseconds(10)},
                             .byOutputs = {},
                             .maxStretch = milliseconds(1)});
  config.draftModel = {.byRows = {milliseconds(1)},
                       .byOutputs = {},
                       .maxStretch = milliseconds(1)};
  config.placement =
      mode == SpeculationMode::Off ? SimPlacement::None : SimPlacement::Own;
  config.links.assign(static_cast<size_t>(config.ranks() * config.ranks()),
                      {milliseconds(1), 0});
  config.rowBytes = 1000;
  config.headDecision = microseconds(0);
  config.head.contextLength = 256;
  config.head.prefillRows = 32;
  config.speculation.mode = mode;
  SimRequest request;
  request.asked.spec.prompt = {1, 2, 3, 4};
  request.asked.spec.maxTokens = 100;
  config.requests.push_back(request);
  setLimits(config);
  return config;
}

SimulationResult run(const SimulationConfig &config) {
  Expected<SimulationResult> result = simulate(config);
  EXPECT_TRUE(result) << result.status().message();
  return result ? result.take() : SimulationResult();
}

TEST(SimulationTest, APlainPipelineTakesItsTripForEachToken) {
  SimulationResult result = run(pipeline(4, SpeculationMode::Off));
  ASSERT_EQ(result.requests.size(), 1u);
  EXPECT_EQ(result.requests[0].tokens.size(), 100u);
  EXPECT_EQ(result.requests[0].reason, FinishReason::Length);
  // Four steps, three links between them, and the link back to rank 0.
  EXPECT_NEAR(result.tokensPerSecond(), 1 / 0.044, 1e-6);
  EXPECT_NEAR(result.ttftSeconds(), 0.044, 1e-9);
  for (const StageOutcome &stage : result.workers) {
    EXPECT_EQ(stage.core.steps, 100u);
    EXPECT_EQ(stage.core.rows, 103u);
    EXPECT_EQ(stage.work.busy, milliseconds(1000));
    EXPECT_EQ(stage.work.checkpoints, 900u);
  }
}

TEST(SimulationTest, IdleStagesTakeTheirTimeToWakeUp) {
  SimulationConfig config = pipeline(4, SpeculationMode::Off);
  config.wakeUp = milliseconds(1);
  EXPECT_NEAR(run(config).tokensPerSecond(), 1 / 0.048, 1e-6);
}

/// Rows that leave one after the other are fused if the stage was asleep.
TEST(SimulationTest, WhatComesWhileAStageWakesUpSharesItsStep) {
  SimulationConfig config = pipeline(2, SpeculationMode::Sync);
  config.acceptance = 1;
  config.speculation.depth = 1;
  config.speculation.width = 2;
  config.speculation.splitRows = true;
  auto rowsOfAStep = [&] {
    StageOutcome stage = run(config).workers.back();
    return double(stage.core.rows) / double(stage.core.steps);
  };
  EXPECT_LT(rowsOfAStep(), 2);
  config.wakeUp = microseconds(10);
  EXPECT_GT(rowsOfAStep(), 2);
}

TEST(SimulationTest, TheFirstTokenWaitsForAllChunksOfThePrompt) {
  SimulationConfig config = pipeline(2, SpeculationMode::Off);
  config.requests[0].asked.spec.prompt.assign(96, 5);
  setLimits(config);
  config.stageLimits.fuse = false;
  // Three chunks follow each other through two stages.
  EXPECT_NEAR(run(config).ttftSeconds(), (4 * 10 + 2) * 1e-3, 1e-9);
}

TEST(SimulationTest, APerfectDraftFillsThePipeline) {
  SimulationConfig config = pipeline(4, SpeculationMode::Async);
  config.acceptance = 1;
  SimulationResult result = run(config);
  EXPECT_EQ(result.speculation.accepted, result.speculation.launched);
  // At least one token for each step of the slowest stage, except at the ends;
  // rows cost nothing, so several share a step.
  EXPECT_GT(result.tokensPerSecond(), 95.0);
}

TEST(SimulationTest, GuessesThatNeverComeTrueCostNextToNothing) {
  SimulationResult plain = run(pipeline(4, SpeculationMode::Off));
  SimulationConfig config = pipeline(4, SpeculationMode::Async);
  config.acceptance = 0;
  SimulationResult result = run(config);
  EXPECT_EQ(result.speculation.accepted, 0);
  // Here the head is one link farther from the first stage.
  EXPECT_GT(result.tokensPerSecond(), 0.98 / 0.045);
  EXPECT_EQ(result.requests[0].tokens, plain.requests[0].tokens);
}

TEST(SimulationTest, EveryModeGivesTheSameTokens) {
  std::vector<int32_t> tokens =
      run(pipeline(3, SpeculationMode::Off)).requests[0].tokens;
  for (SpeculationMode mode : {SpeculationMode::Sync, SpeculationMode::Async})
    for (int64_t stages : {1, 3, 8}) {
      SimulationConfig config = pipeline(stages, mode);
      config.acceptance = 0.7;
      EXPECT_EQ(run(config).requests[0].tokens, tokens);
    }
}

TEST(SimulationTest, DeadRowsLeaveWithinAStretchAndTheLink) {
  SimulationConfig config = pipeline(4, SpeculationMode::Async);
  config.acceptance = 0.5;
  SimulationResult result = run(config);
  int64_t seen = 0;
  for (const StageOutcome &stage : result.workers) {
    seen += stage.cancelLatency.count;
    EXPECT_LE(stage.cancelLatency.max, milliseconds(2)) << stage.role;
    EXPECT_LE(stage.cancelLatency.p50, stage.cancelLatency.p99);
  }
  EXPECT_GT(seen, 0);
}

TEST(SimulationTest, WithoutCancelsDeadRowsStayLonger) {
  SimulationConfig config = pipeline(4, SpeculationMode::Async);
  config.acceptance = 0.5;
  SimulationResult with = run(config);
  config.speculation.cancel = false;
  SimulationResult without = run(config);
  EXPECT_GT(without.speculation.computedDead, with.speculation.computedDead);
  for (const HopOutcome &hop : without.hops)
    EXPECT_EQ(hop.control.messages, 0u);
}

TEST(SimulationTest, AtMostOneMessageForEachStepAndHop) {
  SimulationConfig config = pipeline(4, SpeculationMode::Async);
  config.acceptance = 0.6;
  SimulationResult result = run(config);
  for (const HopOutcome &hop : result.hops) {
    if (hop.data.messages == 0 || hop.from == 0)
      continue;
    const StageOutcome &stage = result.workers[hop.from];
    ASSERT_EQ(stage.rank, hop.from);
    // Frames without rows pass too: at least one opens and one closes.
    EXPECT_LE(hop.data.messages, stage.core.steps + stage.core.tombstones + 2);
    // At most one cancel for each epoch and rank.
    EXPECT_LE(hop.control.messages,
              static_cast<uint64_t>(result.speculation.epochs) + 1);
  }
}

TEST(SimulationTest, AnAnswerThatIsWrongIsFound) {
  SimulationConfig config = pipeline(2, SpeculationMode::Off);
  config.faults.wrongAnswers = 0.02;
  Expected<SimulationResult> result = simulate(config);
  ASSERT_FALSE(result);
  EXPECT_NE(result.status().message().find("request 0: token"),
            std::string::npos)
      << result.status().message();
}

TEST(SimulationTest, ARunWithoutAnEndIsFound) {
  SimulationConfig config = pipeline(2, SpeculationMode::Off);
  config.maxEvents = 50;
  Expected<SimulationResult> result = simulate(config);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().message(),
            "simulation: still going on after 50 events");
}

TEST(SimulationTest, IncompleteConfigurationsAreRefused) {
  SimulationConfig config = pipeline(2, SpeculationMode::Off);
  config.stages.clear();
  EXPECT_FALSE(simulate(config));
  config = pipeline(2, SpeculationMode::Off);
  config.links.pop_back();
  EXPECT_FALSE(simulate(config));
  config = pipeline(2, SpeculationMode::Off);
  config.stages[1].byRows = {Time(-1)};
  EXPECT_FALSE(simulate(config));
  config = pipeline(2, SpeculationMode::Off);
  config.vocabulary = 1;
  EXPECT_FALSE(simulate(config));
}

TEST(SimulationTest, HeadAndDraftCanShareTheFirstStagesRank) {
  SimulationConfig config = pipeline(3, SpeculationMode::Async);
  config.placement = SimPlacement::Head;
  config.links.assign(9, {milliseconds(1), 0});
  config.acceptance = 0.8;
  SimulationResult result = run(config);
  ASSERT_EQ(result.workers.size(), 4u);
  EXPECT_EQ(result.workers[0].role, "draft");
  EXPECT_EQ(result.workers[0].rank, 0);
  EXPECT_EQ(result.workers[1].rank, 0);
  // Both share one device, so together they are never busier than the time that
  // passes.
  EXPECT_LE(result.workers[0].work.busy + result.workers[1].work.busy,
            result.end);
}

TEST(SummarizeTest, PercentilesAreValuesThatOccurred) {
  std::vector<Time> values;
  for (int i = 200; i >= 1; --i)
    values.push_back(Time(i));
  LatencySummary summary = summarize(values);
  EXPECT_EQ(summary.count, 200);
  EXPECT_EQ(summary.p50, Time(100));
  EXPECT_EQ(summary.p99, Time(198));
  EXPECT_EQ(summary.max, Time(200));
  EXPECT_EQ(summarize({}).count, 0);
  EXPECT_EQ(summarize({Time(7)}).p99, Time(7));
}

} // namespace
