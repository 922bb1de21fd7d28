//===- SimulationPlanTest.cpp - simulations of described machines ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/SimulationPlan.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

namespace {

constexpr std::string_view text = R"(
name: four
target: big
draft: small
models:
  - {name: big, layers: 8, hidden: 4096, feed_forward: 11008, heads: 32,
     kv_heads: 32, head_dim: 128, vocab: 32000, format: f16}
  - {name: small, layers: 2, hidden: 1024, feed_forward: 2816, heads: 16,
     kv_heads: 16, head_dim: 64, vocab: 32000, format: f16}
nodes:
  - name: n0
    devices:
      - {kind: cpu, memory: 16 GiB, bandwidth: 50 GB/s, flops: 500 GFLOP/s,
         overhead: 50 us}
  - {name: n1, like: n0}
  - {name: n2, like: n0}
  - {name: n3, like: n0}
DRAFT
links:
  default: {latency: 50 us, bandwidth: 1 Gb/s}
)";

cluster::ClusterFile fileOf(bool draftNode) {
  std::string whole(text);
  whole.replace(whole.find("DRAFT"), 5,
                draftNode ? "  - {name: d, like: n0, draft: true}" : "");
  Expected<cluster::ClusterFile> file =
      cluster::parseClusterFile(whole, "four.yaml");
  EXPECT_TRUE(file) << file.status().message();
  return file.take();
}

TEST(SimulationPlanTest, StagesTakeWhatTheCostModelSays) {
  cluster::ClusterFile file = fileOf(true);
  PlanOptions options;
  options.stages = 4;
  options.context = 512;
  Expected<SimulationPlan> plan = planSimulation(file, options);
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(plan->target, "big");
  EXPECT_EQ(plan->draft, "small");
  EXPECT_EQ(plan->places,
            (std::vector<std::string>{"d", "n0", "n1", "n2", "n3"}));
  ASSERT_EQ(plan->config.stages.size(), 4u);
  cluster::ModelCost model = file.findModel("big")->cost();
  for (size_t s = 0; s < 4; ++s) {
    const cluster::StagePlan &stage = plan->partition.stages[s];
    cluster::StageCost cost(model, stage.range,
                            file.cluster.device(stage.place));
    for (int64_t rows : {1, 7, 64})
      EXPECT_EQ(plan->config.stages[s].step(rows),
                cost.time({rows, rows, 512}));
    // A chunk of a prompt wants one output only.
    EXPECT_NEAR(
        static_cast<double>(plan->config.stages[s].step(100, 1).count()),
        static_cast<double>(cost.time({100, 1, 512}).count()), 2);
  }
  EXPECT_EQ(plan->config.rowBytes, 4096 * 4);
  const LinkTimes &link = plan->config.links[1 * 5 + 2];
  EXPECT_EQ(link.latency, std::chrono::microseconds(50));
  EXPECT_DOUBLE_EQ(link.bytesPerSecond, 125e6);
}

TEST(SimulationPlanTest, StagesTakeWhatWasMeasured) {
  std::string whole(text);
  whole.replace(whole.find("DRAFT\n"), 6, "");
  std::string_view overhead = "overhead: 50 us";
  whole.replace(whole.find(overhead), overhead.size(),
                "overhead: 50 us, steps: {model: small, context: 512, times: ["
                "{rows: 1, time: 5 ms}, {rows: 8, time: 9 ms}]}");
  Expected<cluster::ClusterFile> file =
      cluster::parseClusterFile(whole, "four.yaml");
  ASSERT_TRUE(file) << file.status().message();
  PlanOptions options;
  options.target = "small";
  options.placement = SimPlacement::None;
  options.stages = 1;
  options.context = 512;
  Expected<SimulationPlan> plan = planSimulation(*file, options);
  ASSERT_TRUE(plan) << plan.status().message();
  auto millis = [&](int64_t rows) {
    return static_cast<double>(plan->config.stages[0].step(rows).count()) / 1e6;
  };
  EXPECT_NEAR(millis(1), 5, 1e-5);
  EXPECT_NEAR(millis(8), 9, 1e-5);
  // Half way between a constant and the line.
  EXPECT_NEAR(millis(3), (5 + 5 + 4 * 2 / 7.0) / 2, 0.01);
  EXPECT_NEAR(millis(64), 72, 2);
}

TEST(SimulationPlanTest, PromptChunksKeepTheLatency) {
  PlanOptions options;
  options.stages = 4;
  Expected<SimulationPlan> plan = planSimulation(fileOf(true), options);
  ASSERT_TRUE(plan) << plan.status().message();
  int64_t chunk = plan->config.head.prefillRows;
  EXPECT_GE(chunk, 1);
  EXPECT_LE(chunk, 512);
  options.maxLatency = Time(0);
  plan = planSimulation(fileOf(true), options);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->config.head.prefillRows, 512);
}

/// The draft's node computes more slowly than it reads, so many rows of a
/// prompt would be a long stretch there.
TEST(SimulationPlanTest, PromptChunksKeepTheLatencyAtTheDraft) {
  std::string whole(text);
  whole.replace(whole.find("DRAFT"), 5,
                "  - name: d\n    draft: true\n    devices:\n      - {kind: "
                "cpu, memory: 16 GiB, bandwidth: 50 GB/s, flops: 20 GFLOP/s}");
  Expected<cluster::ClusterFile> file =
      cluster::parseClusterFile(whole, "four.yaml");
  ASSERT_TRUE(file) << file.status().message();
  PlanOptions options;
  options.stages = 4;
  Expected<SimulationPlan> plan = planSimulation(*file, options);
  ASSERT_TRUE(plan) << plan.status().message();
  cluster::ModelCost draft = file->findModel("small")->cost();
  cluster::StageCost cost(draft, cluster::wholeModel(draft),
                          file->cluster.device(*file->cluster.draftPlace()));
  EXPECT_EQ(plan->config.head.prefillRows,
            cost.checkpoints(options.maxLatency, 512, 1024).stepRows);
  options.placement = SimPlacement::None;
  Expected<SimulationPlan> without = planSimulation(*file, options);
  ASSERT_TRUE(without) << without.status().message();
  EXPECT_LT(plan->config.head.prefillRows, without->config.head.prefillRows);
}

/// Without guesses nothing fills the stages after the certain row, and each
/// stage adds a hop.
TEST(SimulationPlanTest, StagesFollowFromTheAcceptance) {
  PlanOptions options;
  Expected<SimulationPlan> plan = planSimulation(fileOf(true), options);
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(plan->config.stages.size(), 4u);
  options.acceptance = 0;
  plan = planSimulation(fileOf(true), options);
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(plan->config.stages.size(), 1u);
}

TEST(SimulationPlanTest, ThePlainPipelineIsPredictedByThePlanningModel) {
  PlanOptions options;
  options.stages = 4;
  options.acceptance = 0;
  Expected<SimulationPlan> plan = planSimulation(fileOf(true), options);
  ASSERT_TRUE(plan) << plan.status().message();
  SimulationConfig config = plan->config;
  config.speculation.mode = SpeculationMode::Off;
  SimRequest request;
  request.asked.spec.prompt.assign(16, 3);
  request.asked.spec.maxTokens = 32;
  config.requests.push_back(request);
  setLimits(config);
  Expected<SimulationResult> result = simulate(config);
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_NEAR(result->tokensPerSecond() / plan->partition.tokensPerSecond, 1,
              0.02);
}

/// Stages that are not neighbours exchange no messages and need no link.
TEST(SimulationPlanTest, LinksAreNeededWhereSomethingTravels) {
  std::string whole(text);
  whole.replace(whole.find("DRAFT"), 5, "  - {name: d, like: n0, draft: true}");
  whole.replace(whole.find("  default:"), std::string::npos, "  between:\n");
  auto join = [&](const char *a, const char *b) {
    whole += std::string("    - {nodes: [") + a + ", " + b +
             "], latency: 50 us, bandwidth: 1 Gb/s}\n";
  };
  auto planned = [&] {
    Expected<cluster::ClusterFile> file =
        cluster::parseClusterFile(whole, "four.yaml");
    EXPECT_TRUE(file) << file.status().message();
    PlanOptions options;
    options.stages = 3;
    return planSimulation(*file, options);
  };
  join("d", "n0");
  join("n0", "n1");
  join("n1", "n2");
  join("n2", "d");
  EXPECT_EQ(planned().status().message(),
            "there is no path between node 'n2' and node 'n3'");
  join("d", "n1");
  Expected<SimulationPlan> plan = planned();
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(plan->places, (std::vector<std::string>{"d", "n0", "n1", "n2"}));
  EXPECT_EQ(plan->config.links[3].latency, std::chrono::microseconds(50));
  EXPECT_EQ(plan->config.links[1 * 4 + 3].latency, Time(0));
}

TEST(SimulationPlanTest, TheDraftNeedsANodeOrShares) {
  PlanOptions options;
  options.stages = 4;
  Expected<SimulationPlan> plan = planSimulation(fileOf(false), options);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.status().message().find("draft: true"), std::string::npos);
  options.placement = SimPlacement::Head;
  plan = planSimulation(fileOf(false), options);
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(plan->places.size(), 4u);
  options.placement = SimPlacement::None;
  plan = planSimulation(fileOf(true), options);
  ASSERT_TRUE(plan) << plan.status().message();
  EXPECT_EQ(plan->places[0], "n0");
}

TEST(SimulationPlanTest, TheDraftMustFitItsNode) {
  std::string whole(text);
  whole.replace(whole.find("DRAFT"), 5,
                "  - name: d\n    draft: true\n    devices:\n      - {kind: "
                "cpu, memory: 1 KiB, bandwidth: 50 GB/s, flops: 500 GFLOP/s}");
  Expected<cluster::ClusterFile> file =
      cluster::parseClusterFile(whole, "four.yaml");
  ASSERT_TRUE(file) << file.status().message();
  PlanOptions options;
  Expected<SimulationPlan> plan = planSimulation(*file, options);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.status().message().find("the draft needs"), std::string::npos);
  EXPECT_NE(plan.status().message().find("node 'd' has 1 KiB"),
            std::string::npos);
}

TEST(SimulationPlanTest, UnknownModelsAreNamed) {
  PlanOptions options;
  options.target = "huge";
  Expected<SimulationPlan> plan = planSimulation(fileOf(true), options);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.status().message().find("huge"), std::string::npos);
}

} // namespace
