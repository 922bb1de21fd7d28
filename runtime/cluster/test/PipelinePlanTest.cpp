//===- PipelinePlanTest.cpp - tests of PipelinePlan.h ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/PipelinePlan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice;
using namespace sluice::cluster;
using testing::HasSubstr;

namespace {

constexpr int64_t gib = int64_t(1) << 30;

ModelCost modelOf(int64_t layers) {
  ModelCost model;
  model.name = "m";
  model.hidden = 1024;
  for (int64_t l = 0; l < layers; ++l)
    model.layers.push_back(
        {{{.weightBytes = gib, .cacheBytesPerPosition = gib / 8}}, gib});
  return model;
}

Cluster clusterOf(double stageGiB, double draftGiB) {
  auto device = [](double memory) {
    return DeviceSpec{.memoryBytes = uint64_t(memory * double(gib)),
                      .bytesPerSecond = 1e9,
                      .flopsPerSecond = 1e12};
  };
  ClusterBuilder builder("c");
  EXPECT_TRUE(builder.setDefaultLink({1e-6, 1e9}).ok());
  for (const char *name : {"a", "b"})
    EXPECT_TRUE(builder.addNode({name, {device(stageGiB)}, false}).ok());
  if (draftGiB > 0)
    EXPECT_TRUE(builder.addNode({"d", {device(draftGiB)}, true}).ok());
  return builder.finish().take();
}

PipelinePlanOptions withoutCache(bool ownDraftRank) {
  PipelinePlanOptions options;
  options.ownDraftRank = ownDraftRank;
  options.context = options.cachePositions = options.draftCachePositions = 0;
  return options;
}

std::string errorOf(const Expected<PipelinePlan> &plan) {
  EXPECT_FALSE(plan.ok());
  return plan.status().message();
}

TEST(PipelinePlanTest, TheDraftsNodeIsTheHeadsToo) {
  Cluster cluster = clusterOf(16, 2);
  ModelCost draft = modelOf(2);
  PipelinePlanOptions options = withoutCache(true);
  options.stages = 2;
  Expected<PipelinePlan> plan =
      planPipeline(modelOf(4), &draft, cluster, options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  std::vector<std::string> places;
  for (Place place : plan->ranks())
    places.push_back(cluster.placeName(place));
  EXPECT_EQ(places, (std::vector<std::string>{"d", "a", "b"}));
  EXPECT_EQ(plan->head(), plan->ranks()[0]);
  EXPECT_EQ(plan->partition.stages[0].memoryBytes, 2 * gib);
}

/// The search for stages may not have considered the head's device.
TEST(PipelinePlanTest, ADraftThatTakesForEverIsRefused) {
  ClusterBuilder builder("c");
  EXPECT_TRUE(builder.setDefaultLink({1e-6, 1e9}).ok());
  DeviceSpec device{.memoryBytes = uint64_t(64 * gib),
                    .bytesPerSecond = 1e9,
                    .flopsPerSecond = 1e12};
  EXPECT_TRUE(builder.addNode({"a", {device}, false}).ok());
  device.flopsPerSecond = 1;
  EXPECT_TRUE(builder.addNode({"d", {device}, true}).ok());
  Cluster cluster = builder.finish().take();
  ModelCost draft = modelOf(1);
  draft.layers[0].ops[0].flopsPerRow = gib;
  EXPECT_THAT(
      errorOf(planPipeline(modelOf(2), &draft, cluster, withoutCache(true))),
      HasSubstr("the draft: 'd' would take 1.07374e+09 s"));
}

TEST(PipelinePlanTest, ATripIsStepsAndLinks) {
  Cluster cluster = clusterOf(16, 2);
  ModelCost draft = modelOf(2);
  for (bool own : {true, false}) {
    PipelinePlanOptions options = withoutCache(own);
    options.stages = 2;
    Expected<PipelinePlan> plan =
        planPipeline(modelOf(4), &draft, cluster, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    double trip = 0;
    std::vector<Place> places;
    for (const StagePlan &stage : plan->partition.stages) {
      trip += stage.oneRowSeconds;
      places.push_back(stage.place);
    }
    std::optional<double> links =
        linksSeconds(cluster, plan->head(), places, 1024 * 4);
    ASSERT_TRUE(links);
    // A row between the stages, and 128 bytes there and back, or only back.
    EXPECT_NEAR(*links, (own ? 3e-6 : 2e-6) + 4096e-9 + (own ? 2 : 1) * 128e-9,
                1e-12);
    EXPECT_NEAR(plan->partition.tripSeconds, trip + *links, 1e-9);
  }
}

/// Only ranks that exchange messages need a path: here "a" has none to "c".
TEST(PipelinePlanTest, RanksThatNeverTalkNeedNoWay) {
  ClusterBuilder builder("c");
  DeviceSpec device{.memoryBytes = uint64_t(3 * gib / 2),
                    .bytesPerSecond = 1e9,
                    .flopsPerSecond = 1e12};
  for (const char *name : {"a", "b", "c"})
    EXPECT_TRUE(builder.addNode({name, {device}, false}).ok());
  EXPECT_TRUE(builder.addNode({"d", {device}, true}).ok());
  Link toHead{2e-6, 1e9}, toNext{3e-6, 1e9};
  for (const char *name : {"a", "b", "c"})
    EXPECT_TRUE(builder.addLink({"d", name, toHead}).ok());
  EXPECT_TRUE(builder.addLink({"a", "b", toNext}).ok());
  EXPECT_TRUE(builder.addLink({"b", "c", toNext}).ok());
  Cluster cluster = builder.finish().take();
  ModelCost draft = modelOf(1);
  PipelinePlanOptions options = withoutCache(true);
  options.stages = 3;
  Expected<PipelinePlan> plan =
      planPipeline(modelOf(3), &draft, cluster, options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->links.size(), 16u);
  for (size_t from = 0; from < 4; ++from)
    for (size_t to = 0; to < 4; ++to) {
      Link expected{0, std::numeric_limits<double>::infinity()};
      if (from != to && (from == 0 || to == 0))
        expected = toHead;
      else if (to == from + 1)
        expected = toNext;
      EXPECT_EQ(plan->links[from * 4 + to], expected) << from << to;
    }
}

/// A step of the draft has the same prompt rows as a step of a stage.
TEST(PipelinePlanTest, StepRowsKeepTheLatencyAtTheDraftToo) {
  ModelCost target = modelOf(2), draft = modelOf(1);
  target.layers[0].ops[0].flopsPerRow = gib;
  // The draft is bound by arithmetic, so a chunk is no faster than single rows.
  draft.layers[0].ops = {{.flopsPerRow = 1'000'000'000}};
  Cluster cluster = clusterOf(16, 2);
  PipelinePlanOptions options = withoutCache(true);
  options.stages = 2;
  Time latency = std::chrono::milliseconds(4);
  Expected<PipelinePlan> plan = planPipeline(target, &draft, cluster, options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->draftCost->checkpoints(latency, 512, 0).stepRows, 4);
  EXPECT_EQ(plan->stepRows(latency, 512, 0), 4);
  EXPECT_EQ(plan->stepRows(Time(0), 512, 0), 512);
  plan = planPipeline(target, nullptr, cluster, options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan->draftCost);
  EXPECT_GT(plan->stepRows(latency, 512, 0), 4);
}

TEST(PipelinePlanTest, TheDraftMustFitItsNodeWithItsCache) {
  Cluster cluster = clusterOf(16, 2);
  ModelCost draft = modelOf(2);
  PipelinePlanOptions options = withoutCache(true);
  options.draftCachePositions = 1;
  EXPECT_EQ(errorOf(planPipeline(modelOf(4), &draft, cluster, options)),
            "the draft needs 2.25 GiB, node 'd' has 2 GiB: 256 MiB too little");
  EXPECT_THAT(
      errorOf(planPipeline(modelOf(4), &draft, clusterOf(16, 0), options)),
      HasSubstr("no node is marked 'draft: true'"));
}

TEST(PipelinePlanTest, BesideTheFirstStageItTakesThatDevicesMemory) {
  // The same holds if another node is kept for drafts.
  Cluster cluster = clusterOf(4.5, 16);
  ModelCost draft = modelOf(1);
  PipelinePlanOptions options = withoutCache(false);
  Expected<PipelinePlan> plan =
      planPipeline(modelOf(4), &draft, cluster, options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->partition.stages.size(), 2u);
  EXPECT_EQ(plan->partition.stages[0].memoryBytes,
            plan->partition.stages[0].range.layers * gib + gib);
  EXPECT_EQ(plan->head(), plan->firstStage());
  EXPECT_EQ(plan->ranks().size(), 2u);
  options.stages = 1;
  EXPECT_EQ(errorOf(planPipeline(modelOf(4), &draft, cluster, options)),
            "with the draft's 1 GiB beside the first stage: a stage of all "
            "layers needs 5 GiB, node 'a' has 4.5 GiB: 512 MiB too little");
}

TEST(PipelinePlanTest, WithoutADraftNothingFollowsAndNoNodeIsTheHeads) {
  Cluster cluster = clusterOf(16, 2);
  Expected<PipelinePlan> plan =
      planPipeline(modelOf(4), nullptr, cluster, withoutCache(true));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->partition.stages.size(), 1u);
  EXPECT_FALSE(plan->ownRank);
  EXPECT_DOUBLE_EQ(plan->partition.tripSeconds, plan->partition.slowestSeconds);
}

} // namespace
