//===- DeviceGroupsTest.cpp - tests of DeviceGroups.h ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/DeviceGroups.h"
#include "runtime/cluster/CostModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cluster;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

DeviceSpec fast() {
  return {.memoryBytes = 64 << 20,
          .bytesPerSecond = 4e9,
          .flopsPerSecond = 4e11,
          .overheadSeconds = 1e-5};
}

DeviceSpec slow() {
  return {.memoryBytes = 32 << 20,
          .bytesPerSecond = 1e9,
          .flopsPerSecond = 8e11,
          .overheadSeconds = 2e-5};
}

constexpr Link betweenNodes{5e-5, 1e8};
constexpr Link inNode{1e-6, 1e10};

Cluster clusterOf(std::vector<NodeSpec> nodes, bool areLinked = true) {
  ClusterBuilder builder("c");
  EXPECT_TRUE(builder.setLocalLink(inNode).ok());
  if (areLinked)
    EXPECT_TRUE(builder.setDefaultLink(betweenNodes).ok());
  for (NodeSpec &node : nodes)
    EXPECT_TRUE(builder.addNode(std::move(node)).ok());
  Expected<Cluster> cluster = builder.finish();
  EXPECT_TRUE(cluster.ok());
  return cluster.take();
}

} // namespace

TEST(DeviceGroupsTest, areOfOneNodeWhereItHasSoMany) {
  Cluster cluster = clusterOf({{"a", {fast(), fast(), fast()}, false},
                               {"b", {fast()}, false},
                               {"c", {fast(), fast()}, false}});
  Expected<GroupedCluster> grouped = groupDevices(cluster, 2);
  ASSERT_TRUE(grouped.ok()) << grouped.status().message();
  ASSERT_EQ(grouped->groups.size(), 2u);
  EXPECT_THAT(grouped->placesOf({0, 0}), ElementsAre(Place{0, 0}, Place{0, 1}));
  EXPECT_THAT(grouped->placesOf({1, 0}), ElementsAre(Place{2, 0}, Place{2, 1}));
  EXPECT_EQ(grouped->cluster.stagePlaces().size(), 2u);
  EXPECT_EQ(grouped->cluster.placeName({1, 0}), "group1");
  EXPECT_EQ(grouped->cluster.device({0, 0}).peers, inNode);
  EXPECT_EQ(grouped->cluster.link({0, 0}, {1, 0}), betweenNodes);
}

TEST(DeviceGroupsTest, areOfConsecutiveNodesWhereNoneHasSoMany) {
  Cluster cluster = clusterOf({{"head", {fast()}, true},
                               {"a", {fast()}, false},
                               {"b", {slow()}, false},
                               {"c", {fast()}, false}});
  Expected<GroupedCluster> grouped = groupDevices(cluster, 2);
  ASSERT_TRUE(grouped.ok()) << grouped.status().message();
  EXPECT_THAT(grouped->placesOf({0, 0}), ElementsAre(Place{1, 0}, Place{2, 0}));
  ASSERT_TRUE(grouped->cluster.draftPlace());
  EXPECT_THAT(grouped->placesOf(*grouped->cluster.draftPlace()),
              ElementsAre(Place{0, 0}));
  // Each property of a group is that of its slowest member.
  const DeviceSpec &device = grouped->cluster.device({0, 0});
  EXPECT_EQ(device.memoryBytes, slow().memoryBytes);
  EXPECT_EQ(device.bytesPerSecond, slow().bytesPerSecond);
  EXPECT_EQ(device.flopsPerSecond, fast().flopsPerSecond);
  EXPECT_EQ(device.overheadSeconds, slow().overheadSeconds);
  EXPECT_EQ(device.peers, betweenNodes);
}

TEST(DeviceGroupsTest, collectivesTakeTheLinksTime) {
  Cluster cluster = clusterOf({{"a", {fast(), fast()}, false}});
  std::vector<Place> places = cluster.stagePlaces();
  OpCost sum{.flopsPerRow = 1000,
             .bytesPerRow = 8000,
             .linkRounds = 2,
             .linkBytesPerRow = 4000};
  OpCost alone = sum;
  alone.linkRounds = alone.linkBytesPerRow = 0;
  Expected<DeviceSpec> group = groupDevice(cluster, places);
  ASSERT_TRUE(group.ok());
  EXPECT_DOUBLE_EQ(opSeconds(sum, 3, 0, *group) -
                       opSeconds(alone, 3, 0, *group),
                   2 * 1e-6 + 3 * 4000 / 1e10);
}

TEST(DeviceGroupsTest, areAsSlowAsMeasuredOfTheSlowest) {
  auto measured = [](DeviceSpec device, std::vector<RowCurve::Point> points) {
    device.weightSeconds = RowCurve::create(std::move(points)).take();
    return device;
  };
  Cluster cluster = clusterOf({{"a",
                                {measured(fast(), {{1, 1e-9}, {8, 7e-9}}),
                                 measured(fast(), {{1, 2e-9}, {8, 3e-9}})},
                                false}});
  Expected<DeviceSpec> group = groupDevice(cluster, cluster.stagePlaces());
  ASSERT_TRUE(group.ok()) << group.status().message();
  EXPECT_EQ(group->weightSeconds.seconds(1), 2e-9);
  EXPECT_EQ(group->weightSeconds.seconds(8), 7e-9);
}

TEST(DeviceGroupsTest, refusesWhatCannotBeAGroup) {
  DeviceSpec measured = fast();
  measured.weightSeconds = RowCurve::create({{1, 1e-9}}).take();
  DeviceSpec cuda = fast();
  cuda.kind = DeviceKind::Cuda;
  auto message = [](const Cluster &cluster, int64_t members) {
    return groupDevices(cluster, members).status().message();
  };
  EXPECT_THAT(message(clusterOf({{"a", {fast()}, false}}), 2),
              HasSubstr("no 2 devices"));
  EXPECT_THAT(message(clusterOf({{"a", {fast(), cuda}, false}}), 2),
              HasSubstr("'a/0' and 'a/1' are of different kinds"));
  EXPECT_THAT(message(clusterOf({{"a", {fast(), measured}, false}}), 2),
              HasSubstr("of 'a/0' and 'a/1' one has measured steps"));
  EXPECT_THAT(
      message(clusterOf({{"a", {fast()}, false}, {"b", {fast()}, false}},
                        /*areLinked=*/false),
              2),
      HasSubstr("no way between 'a' and 'b'"));
}
