//===- PartitionWaysTest.cpp - stages on nodes with paths -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests that stages are placed where all that exchange messages have paths:
// neighbours, and the head and each stage.
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Partition.h"

#include <array>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cluster;

namespace {

constexpr int64_t gib = int64_t(1) << 30;

/// Returns a model with layers of 1 GiB.
ModelCost modelOf(int64_t layers) {
  ModelCost model;
  model.hidden = 1024;
  for (int64_t l = 0; l < layers; ++l)
    model.layers.push_back({{{.weightBytes = gib}}, gib});
  return model;
}

/// Returns a device that reads `speed` GiB per second.
DeviceSpec deviceOf(double memoryGiB, double speed = 1) {
  return {.memoryBytes = uint64_t(memoryGiB * double(gib)),
          .bytesPerSecond = speed * double(gib),
          .flopsPerSecond = 1e15};
}

PartitionOptions exactly(int64_t stages) {
  return {.minStages = stages,
          .maxStages = stages,
          .context = 0,
          .cachePositions = 0};
}

std::string errorOf(const ModelCost &model, const Cluster &cluster,
                    const PartitionOptions &options) {
  Expected<Partition> found = partition(model, cluster, options);
  EXPECT_FALSE(found.ok());
  return found.status().message();
}

TEST(PartitionWaysTest, RefusesNodesThatCannotTalk) {
  ClusterBuilder builder("c");
  ASSERT_TRUE(builder.addNode({"a", {deviceOf(8)}, false}).ok());
  ASSERT_TRUE(builder.addNode({"b", {deviceOf(8)}, false}).ok());
  EXPECT_EQ(errorOf(modelOf(2), *builder.finish(), exactly(2)),
            "there is no path between node 'a' and node 'b'");
}

TEST(PartitionWaysTest, RefusesAHeadThatCannotTalk) {
  ClusterBuilder builder("c");
  ASSERT_TRUE(builder.addNode({"a", {deviceOf(8)}, false}).ok());
  ASSERT_TRUE(builder.addNode({"d", {deviceOf(8)}, true}).ok());
  Cluster cluster = builder.finish().take();
  PartitionOptions options = exactly(1);
  options.head = cluster.draftPlace();
  EXPECT_EQ(errorOf(modelOf(2), cluster, options),
            "there is no path between the head on node 'd' and node 'a'");
  // A head beside the first stage needs no path.
  EXPECT_TRUE(partition(modelOf(2), cluster, exactly(1)).ok());
}

TEST(PartitionWaysTest, ADeviceThatTheHeadCannotReachIsLeftOut) {
  ClusterBuilder builder("c");
  ASSERT_TRUE(builder.addNode({"fast", {deviceOf(8, 10)}, false}).ok());
  ASSERT_TRUE(builder.addNode({"slow", {deviceOf(8)}, false}).ok());
  ASSERT_TRUE(builder.addNode({"d", {deviceOf(8)}, true}).ok());
  ASSERT_TRUE(builder.addLink({"slow", "d", {1e-6, 1e9}}).ok());
  Cluster cluster = builder.finish().take();
  PartitionOptions options = exactly(1);
  options.head = cluster.draftPlace();
  Expected<Partition> found = partition(modelOf(2), cluster, options);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(cluster.placeName(found->stages[0].place), "slow");
  EXPECT_DOUBLE_EQ(found->tripSeconds, 2 + 2 * (1e-6 + 128e-9));
}

/// The head tells the stages which rows are dead, and gets their errors.
TEST(PartitionWaysTest, TheHeadTalksToStagesInTheMiddleToo) {
  auto clusterWith = [](const std::vector<std::array<std::string, 2>> &links) {
    ClusterBuilder builder("c");
    for (const char *name : {"a", "b", "c", "d"})
      EXPECT_TRUE(
          builder.addNode({name, {deviceOf(1.5)}, name[0] == 'd'}).ok());
    for (const auto &[from, to] : links)
      EXPECT_TRUE(builder.addLink({from, to, {1e-6, 1e9}}).ok());
    return builder.finish().take();
  };
  ModelCost model = modelOf(3);
  Cluster ring = clusterWith({{"d", "a"}, {"a", "b"}, {"b", "c"}, {"c", "d"}});
  PartitionOptions options = exactly(3);
  options.head = ring.draftPlace();
  EXPECT_EQ(errorOf(model, ring, options),
            "there is no path between the head on node 'd' and node 'b'");
  EXPECT_EQ(errorOf(model, ring, exactly(3)),
            "there is no path between the head on node 'a' and node 'c'");
  EXPECT_TRUE(partition(
      model,
      clusterWith({{"d", "a"}, {"d", "b"}, {"d", "c"}, {"a", "b"}, {"b", "c"}}),
      options));
  EXPECT_TRUE(partition(
      model, clusterWith({{"a", "b"}, {"b", "c"}, {"a", "c"}}), exactly(3)));
}

} // namespace
