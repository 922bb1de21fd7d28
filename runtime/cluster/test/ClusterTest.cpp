//===- ClusterTest.cpp - tests of Cluster.h -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Cluster.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace sluice;
using namespace sluice::cluster;

namespace {

DeviceSpec someDevice() {
  return {.memoryBytes = 1, .bytesPerSecond = 1, .flopsPerSecond = 1};
}

/// Returns a builder with nodes a, b, c and switches s, t.
ClusterBuilder threeNodes() {
  ClusterBuilder builder("c");
  for (const char *name : {"a", "b", "c"})
    EXPECT_TRUE(builder.addNode({name, {someDevice()}, false}).ok());
  for (const char *name : {"s", "t"})
    EXPECT_TRUE(builder.addSwitch(name).ok());
  return builder;
}

void join(ClusterBuilder &builder, const char *a, const char *b, double latency,
          double bandwidth) {
  Status status = builder.addLink({a, b, {latency, bandwidth}});
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(ClusterTest, PathsGoThroughSwitches) {
  ClusterBuilder builder = threeNodes();
  join(builder, "a", "s", 1, 100);
  join(builder, "s", "t", 2, 10);
  join(builder, "b", "t", 3, 50);
  join(builder, "c", "t", 4, 5);
  Cluster cluster = builder.finish().take();
  EXPECT_EQ(cluster.link({0, 0}, {1, 0}), (Link{6, 10}));
  EXPECT_EQ(cluster.link({1, 0}, {0, 0}), (Link{6, 10}));
  EXPECT_EQ(cluster.link({1, 0}, {2, 0}), (Link{7, 5}));
  EXPECT_EQ(cluster.link({0, 0}, {0, 0}), cluster.localLink());
}

TEST(ClusterTest, OfTwoPathsTheQuickerAndThenTheWiderIsTaken) {
  ClusterBuilder builder = threeNodes();
  join(builder, "a", "s", 1, 100);
  join(builder, "b", "s", 3, 100);
  join(builder, "a", "t", 2, 200);
  join(builder, "b", "t", 2, 200);
  EXPECT_EQ(builder.finish()->link({0, 0}, {1, 0}), (Link{4, 200}));
}

TEST(ClusterTest, AnOwnLinkIsTakenThoughAPathBeQuicker) {
  ClusterBuilder builder = threeNodes();
  join(builder, "a", "b", 9, 1);
  join(builder, "a", "s", 1, 100);
  join(builder, "b", "s", 1, 100);
  EXPECT_EQ(builder.finish()->link({0, 0}, {1, 0}), (Link{9, 1}));
}

TEST(ClusterTest, NodesPassNothingOn) {
  ClusterBuilder builder = threeNodes();
  join(builder, "a", "b", 1, 1);
  join(builder, "b", "c", 1, 1);
  EXPECT_EQ(builder.finish()->link({0, 0}, {2, 0}), std::nullopt);
}

TEST(ClusterTest, TheDefaultLinkJoinsWhatNothingElseDoes) {
  ClusterBuilder builder = threeNodes();
  join(builder, "a", "b", 1, 1);
  ASSERT_TRUE(builder.setDefaultLink({7, 7}).ok());
  Cluster cluster = builder.finish().take();
  EXPECT_EQ(cluster.link({0, 0}, {1, 0}), (Link{1, 1}));
  EXPECT_EQ(cluster.link({0, 0}, {2, 0}), (Link{7, 7}));
}

TEST(ClusterTest, PlacesAreDevicesInOrderWithoutTheDrafts) {
  ClusterBuilder builder("c");
  ASSERT_TRUE(builder.addNode({"d", {someDevice()}, true}).ok());
  ASSERT_TRUE(builder.addNode({"a", {someDevice(), someDevice()}, false}).ok());
  ASSERT_TRUE(builder.addNode({"b", {someDevice()}, false}).ok());
  Cluster cluster = builder.finish().take();
  std::vector<Place> places = cluster.stagePlaces();
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(cluster.placeName(places[0]), "a/0");
  EXPECT_EQ(cluster.placeName(places[1]), "a/1");
  EXPECT_EQ(cluster.placeName(places[2]), "b");
  EXPECT_EQ(cluster.placeName(*cluster.draftPlace()), "d");
  EXPECT_EQ(cluster.findPlace("a/1"), places[1]);
  EXPECT_EQ(cluster.findPlace("a"), places[0]);
  EXPECT_EQ(cluster.findPlace("a/2"), std::nullopt);
  EXPECT_EQ(cluster.findPlace(""), std::nullopt);
}

TEST(ClusterTest, ClustersAreEqualHoweverTheirLinksAreDescribed) {
  ClusterBuilder direct = threeNodes(), switched = threeNodes();
  join(direct, "a", "b", 3, 5);
  join(switched, "a", "s", 1, 5);
  join(switched, "b", "s", 2, 9);
  Cluster one = direct.finish().take();
  EXPECT_TRUE(one == *switched.finish());
  ClusterBuilder other = threeNodes();
  join(other, "a", "b", 3, 6);
  EXPECT_FALSE(one == *other.finish());
}

std::string error(const Status &status) {
  EXPECT_FALSE(status.ok());
  return status.message();
}

TEST(ClusterTest, RefusesNames) {
  ClusterBuilder builder = threeNodes();
  auto add = [&](const std::string &name) {
    return error(builder.addNode({name, {someDevice()}, false}));
  };
  EXPECT_EQ(add("a"), "there are two nodes or switches 'a'");
  EXPECT_EQ(add("s"), "there are two nodes or switches 's'");
  EXPECT_EQ(add("links"), "no node can be called 'links'");
  for (const std::string &name : {std::string(), std::string(65, 'x'),
                                  std::string("a/0"), std::string("a b")})
    EXPECT_TRUE(add(name).starts_with("a node's name")) << name;
  EXPECT_EQ(error(builder.addSwitch("t")),
            "there are two nodes or switches 't'");
}

TEST(ClusterTest, RefusesNodes) {
  ClusterBuilder builder = threeNodes();
  EXPECT_EQ(error(builder.addNode({"x", {}, false})), "node 'x' has no device");
  EXPECT_EQ(error(builder.addNode(
                {"x", std::vector<DeviceSpec>(17, someDevice()), false})),
            "node 'x' has more than 16 devices");
  ASSERT_TRUE(builder.addNode({"d", {someDevice()}, true}).ok());
  EXPECT_EQ(error(builder.addNode({"e", {someDevice()}, true})),
            "'d' and 'e' are both for the draft");
  ClusterBuilder lonely("c");
  ASSERT_TRUE(lonely.addNode({"d", {someDevice()}, true}).ok());
  EXPECT_EQ(error(lonely.finish().status()),
            "the cluster has no node for stages");
  ClusterBuilder many("c");
  for (int64_t n = 0; n < maxNodes; ++n)
    ASSERT_TRUE(
        many.addNode({"n" + std::to_string(n), {someDevice()}, false}).ok());
  EXPECT_EQ(error(many.addNode({"x", {someDevice()}, false})),
            "node 'x': a cluster has 256 nodes at most");
}

TEST(ClusterTest, RefusesNumbers) {
  ClusterBuilder builder = threeNodes();
  double nan = std::numeric_limits<double>::quiet_NaN();
  auto refused = [&](auto change) {
    DeviceSpec device = someDevice();
    change(device);
    return !builder.addNode({"x", {device}, false}).ok();
  };
  EXPECT_TRUE(refused([](DeviceSpec &d) { d.memoryBytes = 0; }));
  EXPECT_TRUE(refused([](DeviceSpec &d) { d.memoryBytes = ~uint64_t(0); }));
  for (double number : {0.0, -1.0, nan, double(INFINITY), 1e19}) {
    EXPECT_TRUE(refused([&](DeviceSpec &d) { d.bytesPerSecond = number; }));
    EXPECT_TRUE(refused([&](DeviceSpec &d) { d.flopsPerSecond = number; }));
    EXPECT_FALSE(builder.addLink({"a", "b", {1, number}}).ok());
  }
  for (double number : {-1.0, nan, double(INFINITY), 11.0}) {
    EXPECT_TRUE(refused([&](DeviceSpec &d) { d.overheadSeconds = number; }));
    EXPECT_TRUE(refused([&](DeviceSpec &d) { d.rowSeconds = number; }));
    EXPECT_FALSE(builder.setDefaultLink({number, 1}).ok());
    EXPECT_FALSE(builder.setLocalLink({number, 1}).ok());
  }
}

TEST(ClusterTest, RefusesLinks) {
  ClusterBuilder builder = threeNodes();
  join(builder, "a", "b", 1, 1);
  EXPECT_EQ(error(builder.addLink({"b", "a", {1, 1}})),
            "link 'b' - 'a' is there twice");
  EXPECT_EQ(error(builder.addLink({"a", "a", {1, 1}})),
            "link 'a' - 'a' joins a thing with itself");
  EXPECT_EQ(error(builder.addLink({"a", "x", {1, 1}})),
            "link 'a' - 'x': no node or switch is called 'x'");
}

TEST(ClusterTest, MakesEqualNodes) {
  Expected<Cluster> cluster =
      makeEqualCluster(3, true, defaultDevice(), defaultLink());
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(cluster->stagePlaces().size(), 3u);
  EXPECT_EQ(cluster->placeName(cluster->stagePlaces()[2]), "n2");
  EXPECT_EQ(cluster->placeName(*cluster->draftPlace()), "draft");
  EXPECT_EQ(cluster->link({0, 0}, {3, 0}), defaultLink());
  EXPECT_FALSE(makeEqualCluster(0, false, defaultDevice(), defaultLink()).ok());
  EXPECT_FALSE(
      makeEqualCluster(256, false, defaultDevice(), defaultLink()).ok());
}

} // namespace
