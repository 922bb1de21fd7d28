//===- PartitionTest.cpp - tests of Partition.h ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Partition.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <random>

using namespace sluice;
using namespace sluice::cluster;
using testing::HasSubstr;

namespace {

constexpr int64_t gib = int64_t(1) << 30;

/// Returns a part of so many GiB of weights, each used once by a row.
PartCost part(double gibibytes, int64_t cachePerPosition = 0) {
  int64_t bytes = int64_t(gibibytes * double(gib));
  PartCost part;
  part.ops.push_back({.weightBytes = bytes, .flopsPerRow = 2 * bytes});
  if (cachePerPosition)
    part.ops.push_back({.cacheBytesPerPosition = cachePerPosition});
  part.memoryBytes = bytes;
  return part;
}

ModelCost modelOf(const std::vector<double> &gibibytes) {
  ModelCost model;
  model.name = "m";
  model.hidden = 1024;
  model.vocab = 100;
  for (double size : gibibytes)
    model.layers.push_back(part(size));
  return model;
}

DeviceSpec deviceOf(double memoryGiB, double speed = 1) {
  return {.memoryBytes = uint64_t(memoryGiB * double(gib)),
          .bytesPerSecond = speed * double(gib),
          .flopsPerSecond = 1e15,
          .overheadSeconds = 0};
}

Cluster clusterOf(const std::vector<DeviceSpec> &devices,
                  Link link = {1e-6, 1e12}) {
  ClusterBuilder builder("c");
  EXPECT_TRUE(builder.setDefaultLink(link).ok());
  for (size_t d = 0; d < devices.size(); ++d)
    EXPECT_TRUE(
        builder.addNode({"n" + std::to_string(d), {devices[d]}, false}).ok());
  Expected<Cluster> cluster = builder.finish();
  EXPECT_TRUE(cluster.ok()) << cluster.status().message();
  return cluster.take();
}

PartitionOptions exactly(int64_t stages) {
  return {.minStages = stages,
          .maxStages = stages,
          .context = 0,
          .cachePositions = 0};
}

std::vector<int64_t> layersOf(const Partition &partition) {
  std::vector<int64_t> counts;
  for (const StagePlan &stage : partition.stages)
    counts.push_back(stage.range.layers);
  return counts;
}

//===----------------------------------------------------------------------===//
// Comparison with an exhaustive search
//===----------------------------------------------------------------------===//

/// Returns the seconds of the head's messages to the first stage and from the
/// last one; nullopt if there is no path.
std::optional<double> headSeconds(const Cluster &cluster,
                                  const PartitionOptions &options, Place first,
                                  Place last) {
  Place head = options.head.value_or(first);
  double sum = 0;
  for (auto [from, to] : {std::pair{head, first}, std::pair{last, head}}) {
    if (from == to)
      continue;
    std::optional<Link> link = cluster.link(from, to);
    if (!link)
      return std::nullopt;
    sum += linkSeconds(*link, 128);
  }
  return sum;
}

/// Tries every choice of devices in order and every cut. Implements the
/// objective of Partition.h independently, in floating point.
class Exhaustive {
public:
  Exhaustive(const ModelCost &model, const Cluster &cluster,
             const PartitionOptions &options)
      : model(model), cluster(cluster), options(options) {}

  struct Best {
    double slowest = INFINITY, trip = INFINITY;
  };

  /// Returns the best cut for each number of stages.
  std::vector<Best> run() {
    best.resize(cluster.stagePlaces().size() + 1);
    extend(0, 0, 0, 0, -1, -1);
    return best;
  }

private:
  Place placeOf(int64_t d) const { return cluster.stagePlaces()[size_t(d)]; }

  void extend(int64_t stages, int64_t layer, double slowest, double trip,
              int64_t start, int64_t device) {
    int64_t count = int64_t(model.layers.size());
    if (layer == count) {
      std::optional<double> head =
          headSeconds(cluster, options, placeOf(start), placeOf(device));
      if (!head)
        return;
      trip += *head;
      Best &so = best[size_t(stages)];
      if (slowest < so.slowest * (1 - 1e-12) ||
          (slowest < so.slowest * (1 + 1e-12) && trip < so.trip))
        so = {slowest, trip};
      return;
    }
    for (int64_t d = device + 1; d < int64_t(cluster.stagePlaces().size()); ++d)
      for (int64_t end = layer + 1; end <= count; ++end)
        place(stages, layer, end, slowest, trip, start, device, d);
  }

  void place(int64_t stages, int64_t layer, int64_t end, double slowest,
             double trip, int64_t start, int64_t from, int64_t d) {
    Place at = placeOf(d);
    StageRange range{layer, end - layer, layer == 0,
                     end == int64_t(model.layers.size())};
    if (uint64_t(stageMemoryBytes(model, range, options.cachePositions)) >
        cluster.device(at).memoryBytes)
      return;
    StageCost cost(model, range, cluster.device(at));
    double step = cost.seconds({.context = options.context});
    double hop = 0, occupied = 0;
    Place head = options.head.value_or(start < 0 ? at : placeOf(start));
    if (head != at && !cluster.link(head, at))
      return;
    if (from >= 0) {
      std::optional<Link> link = cluster.link(placeOf(from), at);
      if (!link)
        return;
      int64_t bytes = model.hidden * options.activationBytes;
      hop = linkSeconds(*link, bytes);
      occupied = linkOccupancySeconds(*link, bytes);
    }
    extend(stages + 1, end, std::max({slowest, step, occupied}),
           trip + step + hop, stages == 0 ? d : start, d);
  }

  const ModelCost &model;
  const Cluster &cluster;
  const PartitionOptions &options;
  std::vector<Best> best;
};

struct Case {
  ModelCost model;
  Cluster cluster;
  PartitionOptions options;
};

Case randomCase(std::mt19937_64 &random) {
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  // Powers of two are exact in seconds and in picoseconds, so ties here are
  // ties there. Sometimes all layers are equal.
  auto power = [&](int64_t max) { return double(int64_t(1) << pick(0, max)); };
  int64_t layers = pick(1, 7);
  bool equal = pick(0, 2) == 0;
  std::vector<double> sizes;
  for (int64_t l = 0; l < layers; ++l)
    sizes.push_back(equal ? 1 : double(pick(1, 4)));
  ModelCost model = modelOf(sizes);
  for (PartCost &layer : model.layers)
    layer.ops.push_back({.flopsPerRowAndPosition = pick(0, 1) << 24,
                         .cacheBytesPerPosition = pick(0, 1) << 23});
  if (pick(0, 1)) {
    model.embedding.memoryBytes = pick(0, 3) * gib;
    model.output = part(double(pick(0, 3)));
    if (pick(0, 1))
      model.tiedBytes = model.output.memoryBytes = model.embedding.memoryBytes;
  }
  ClusterBuilder builder("c");
  int64_t devices = pick(1, 4);
  bool tight = pick(0, 1);
  for (int64_t d = 0; d < devices; ++d)
    EXPECT_TRUE(
        builder
            .addNode({"n" + std::to_string(d),
                      {{.memoryBytes =
                            uint64_t(tight ? pick(1, 10) : pick(8, 60)) * gib,
                        .bytesPerSecond = power(2) * double(gib),
                        .flopsPerSecond = power(2) * double(gib),
                        .overheadSeconds = double(pick(0, 2)) * 0.25}},
                      false})
            .ok());
  // Sometimes slow enough to limit the pipeline.
  if (pick(0, 3))
    EXPECT_TRUE(builder.setDefaultLink({0.125, power(2) * 1024}).ok());
  for (int64_t d = 0; d + 1 < devices; ++d)
    if (pick(0, 2) == 0)
      EXPECT_TRUE(builder
                      .addLink({"n" + std::to_string(d),
                                "n" + std::to_string(pick(d + 1, devices - 1)),
                                {0.0625, power(3) * 1024}})
                      .ok());
  // A node for the head and the draft, with links of its own or without.
  if (pick(0, 1)) {
    EXPECT_TRUE(builder.addNode({"h", {{deviceOf(1)}}, true}).ok());
    for (int64_t d = 0; d < devices; ++d)
      if (pick(0, 2) == 0)
        EXPECT_TRUE(builder
                        .addLink({"h",
                                  "n" + std::to_string(d),
                                  {power(4) / 64, power(3) * 1024}})
                        .ok());
  }
  Case made{std::move(model),
            builder.finish().take(),
            {.context = pick(0, 20), .cachePositions = pick(0, 20)}};
  if (pick(0, 3))
    made.options.head = made.cluster.draftPlace();
  return made;
}

TEST(PartitionTest, IsTheBestThatTryingEverythingFinds) {
  std::mt19937_64 random(20260111);
  int64_t feasible = 0, infeasible = 0, withHead = 0;
  for (int64_t i = 0; i < 4000; ++i) {
    Case test = randomCase(random);
    std::vector<Exhaustive::Best> expected =
        Exhaustive(test.model, test.cluster, test.options).run();
    int64_t max =
        std::min(test.model.layers.size(), test.cluster.stagePlaces().size());
    for (int64_t stages = 1; stages <= max; ++stages) {
      test.options.minStages = test.options.maxStages = stages;
      Expected<Partition> found =
          partition(test.model, test.cluster, test.options);
      const Exhaustive::Best &best = expected[size_t(stages)];
      if (!std::isfinite(best.slowest)) {
        EXPECT_FALSE(found.ok());
        EXPECT_FALSE(found.status().message().empty());
        ++infeasible;
        continue;
      }
      ASSERT_TRUE(found.ok()) << i << ": " << found.status().message();
      ++feasible;
      withHead += test.options.head.has_value();
      EXPECT_NEAR(found->slowestSeconds, best.slowest, best.slowest * 1e-9);
      double trip =
          *headSeconds(test.cluster, test.options, found->stages.front().place,
                       found->stages.back().place);
      for (size_t s = 0; s < found->stages.size(); ++s) {
        trip += found->stages[s].oneRowSeconds;
        if (s > 0)
          trip += linkSeconds(*test.cluster.link(found->stages[s - 1].place,
                                                 found->stages[s].place),
                              test.model.hidden * 4);
      }
      EXPECT_NEAR(trip, best.trip, best.trip * 1e-9) << "case " << i;
      EXPECT_NEAR(found->tripSeconds, trip, trip * 1e-9) << "case " << i;
    }
  }
  EXPECT_GT(feasible, 4000);
  EXPECT_GT(infeasible, 1000);
  EXPECT_GT(withHead, 1000);
}

TEST(PartitionTest, ChoosesTheNumberOfStagesThatThePlanningModelPromisesMost) {
  std::mt19937_64 random(7);
  for (int64_t i = 0; i < 500; ++i) {
    Case test = randomCase(random);
    for (double acceptance : {0.0, 0.5, 0.95}) {
      test.options.acceptance = acceptance;
      test.options.minStages = 1;
      test.options.maxStages = maxStages;
      Expected<Partition> chosen =
          partition(test.model, test.cluster, test.options);
      double best = 0;
      for (int64_t stages = 1; stages <= 4; ++stages) {
        test.options.minStages = test.options.maxStages = stages;
        if (Expected<Partition> one =
                partition(test.model, test.cluster, test.options))
          best = std::max(best, one->tokensPerSecond);
      }
      EXPECT_EQ(chosen ? chosen->tokensPerSecond : 0, best) << "case " << i;
    }
  }
}

//===----------------------------------------------------------------------===//
// Single properties
//===----------------------------------------------------------------------===//

TEST(PartitionTest, EqualLayersOnEqualNodesAreCutEvenly) {
  Cluster cluster = clusterOf(std::vector<DeviceSpec>(4, deviceOf(100)));
  Expected<Partition> found =
      partition(modelOf(std::vector<double>(9, 1)), cluster, exactly(4));
  ASSERT_TRUE(found.ok()) << found.status().message();
  std::vector<int64_t> counts = layersOf(*found);
  std::sort(counts.begin(), counts.end());
  // Not 1 2 3 3, whose slowest stage is as slow.
  EXPECT_EQ(counts, (std::vector<int64_t>{2, 2, 2, 3}));
  EXPECT_TRUE(found->stages.front().range.embedding);
  EXPECT_TRUE(found->stages.back().range.output);
}

TEST(PartitionTest, AFasterNodeGetsMoreLayers) {
  Cluster cluster = clusterOf({deviceOf(100), deviceOf(100, 3)});
  Expected<Partition> found =
      partition(modelOf(std::vector<double>(8, 1)), cluster, exactly(2));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(layersOf(*found), (std::vector<int64_t>{2, 6}));
  EXPECT_DOUBLE_EQ(found->slowestSeconds, 2);
}

TEST(PartitionTest, MemoryMovesACutAndTheReasonSaysSo) {
  Cluster cluster = clusterOf({deviceOf(100), deviceOf(3.5, 3)});
  Expected<Partition> found =
      partition(modelOf(std::vector<double>(8, 1)), cluster, exactly(2));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(layersOf(*found), (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(found->stages[0].reason,
            "cut after layer 4: with one layer fewer stage 1 would need 4 GiB, "
            "more than the 3.5 GiB of n1");
  EXPECT_EQ(found->stages[1].reason, "");
  EXPECT_EQ(found->stages[1].memoryBytes, 3 * gib);
}

TEST(PartitionTest, CacheCountsAsMemory) {
  ModelCost model = modelOf({1, 1});
  model.layers[0] = part(1, 1 << 20);
  Cluster cluster = clusterOf({deviceOf(2), deviceOf(2)});
  PartitionOptions options = exactly(2);
  options.cachePositions = 1024; // one GiB
  EXPECT_TRUE(partition(model, cluster, options).ok());
  options.cachePositions = 1025;
  Expected<Partition> found = partition(model, cluster, options);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.status().message(), HasSubstr("layer 0 alone needs"));
}

TEST(PartitionTest, ATiedTableIsHeldOnceWhereOneStageHasBothEnds) {
  ModelCost model = modelOf({1, 1});
  model.embedding.memoryBytes = model.output.memoryBytes = model.tiedBytes =
      4 * gib;
  Cluster one = clusterOf({deviceOf(6)});
  EXPECT_TRUE(partition(model, one, exactly(1)).ok());
  Cluster two = clusterOf({deviceOf(4.5), deviceOf(4.5)});
  EXPECT_FALSE(partition(model, two, exactly(2)).ok());
}

TEST(PartitionTest, FewerStagesWhereNothingFollowsTheCertainRow) {
  ModelCost model = modelOf(std::vector<double>(8, 1));
  Cluster cluster =
      clusterOf(std::vector<DeviceSpec>(4, deviceOf(100)), {0.01, 1e9});
  PartitionOptions options{.context = 0, .cachePositions = 0};
  options.acceptance = 0;
  EXPECT_EQ(partition(model, cluster, options)->stages.size(), 1u);
  options.acceptance = 0.8;
  EXPECT_EQ(partition(model, cluster, options)->stages.size(), 4u);
}

TEST(PartitionTest, ASlowNodeIsLeftOut) {
  Cluster cluster =
      clusterOf({deviceOf(100), deviceOf(100, 0.01), deviceOf(100)});
  Expected<Partition> found =
      partition(modelOf(std::vector<double>(8, 1)), cluster,
                {.context = 0, .cachePositions = 0});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->stages.size(), 2u);
  EXPECT_EQ(cluster.placeName(found->stages[1].place), "n2");
}

TEST(PartitionTest, ALinkThatIsSlowerThanTheStagesIsTheSlot) {
  // 4 KiB for each row at 2 KiB/s.
  Cluster cluster =
      clusterOf(std::vector<DeviceSpec>(2, deviceOf(100)), {0, 2048});
  Expected<Partition> found = partition(modelOf({1, 1}), cluster, exactly(2));
  ASSERT_TRUE(found.ok());
  EXPECT_DOUBLE_EQ(found->stages[0].oneRowSeconds, 1);
  EXPECT_DOUBLE_EQ(found->stages[0].occupancySeconds, 2);
  EXPECT_DOUBLE_EQ(found->slowestSeconds, 2);
}

TEST(PartitionTest, ManyLayersOnManyNodes) {
  ModelCost model = modelOf(std::vector<double>(137, 1));
  Cluster cluster = clusterOf(std::vector<DeviceSpec>(32, deviceOf(64)));
  Expected<Partition> found =
      partition(model, cluster, {.context = 0, .cachePositions = 0});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_DOUBLE_EQ(found->slowestSeconds, 5);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

std::string errorOf(const ModelCost &model, const Cluster &cluster,
                    const PartitionOptions &options) {
  Expected<Partition> found = partition(model, cluster, options);
  EXPECT_FALSE(found.ok());
  return found.status().message();
}

TEST(PartitionTest, SaysWhatMemoryIsMissing) {
  ModelCost model = modelOf(std::vector<double>(10, 4.12));
  EXPECT_EQ(errorOf(model, clusterOf({deviceOf(24)}), exactly(1)),
            "a stage of all layers needs 41.2 GiB, node 'n0' has 24 GiB: "
            "17.2 GiB too little");
  EXPECT_EQ(errorOf(model, clusterOf({deviceOf(16), deviceOf(8)}), exactly(2)),
            "the model needs 41.2 GiB, 2 nodes have 24 GiB together: 17.2 GiB "
            "too little");
  EXPECT_EQ(
      errorOf(model, clusterOf({deviceOf(4), deviceOf(3)}), exactly(2)),
      "a stage of layer 0 alone needs 4.12 GiB, node 'n0', the largest, has 4 "
      "GiB: 123 MiB too little");
  EXPECT_EQ(errorOf(model, clusterOf({deviceOf(30), deviceOf(12)}), exactly(2)),
            "the nodes before it filled, node 'n1' is left with layers 7 to 9: "
            "needs 12.4 GiB, has 12 GiB: 369 MiB too little");
}

TEST(PartitionTest, RefusesWhatCannotBe) {
  ModelCost model = modelOf({1, 1});
  Cluster cluster = clusterOf(std::vector<DeviceSpec>(3, deviceOf(8)));
  EXPECT_EQ(errorOf(model, cluster, exactly(3)),
            "3 stages were asked for, the model has 2 layers");
  EXPECT_EQ(errorOf(modelOf(std::vector<double>(9, 1)), cluster, exactly(4)),
            "4 stages were asked for, the cluster has 3 devices for them");
  EXPECT_THAT(errorOf(modelOf({}), cluster, exactly(1)),
              HasSubstr("0 layers cannot be cut"));
  EXPECT_THAT(errorOf(model, cluster, exactly(0)),
              HasSubstr("not within [1, 256]"));
  PartitionOptions options = exactly(1);
  options.acceptance = 1;
  EXPECT_THAT(errorOf(model, cluster, options), HasSubstr("acceptance 1"));
}

TEST(PartitionTest, ASearchThatTakesTooLongIsRefused) {
  Cluster cluster = clusterOf(std::vector<DeviceSpec>(128, deviceOf(64)));
  ModelCost model = modelOf(std::vector<double>(128, 1));
  EXPECT_EQ(errorOf(model, cluster, exactly(128)),
            "128 stages on 128 devices of 128 layers leave too many ways to "
            "cut: ask for fewer stages, or describe fewer devices");
  PartitionOptions options = exactly(64);
  EXPECT_TRUE(partition(model, cluster, options).ok());
  options.searchSteps = 1'000'000;
  EXPECT_EQ(errorOf(model, cluster, options),
            "128 devices and 128 layers leave too many ways to cut: ask for "
            "one number of stages, or describe fewer devices");
  ClusterBuilder builder("c");
  for (int64_t n = 0; n < 40; ++n)
    ASSERT_TRUE(builder
                    .addNode({"n" + std::to_string(n),
                              std::vector<DeviceSpec>(16, deviceOf(64)), false})
                    .ok());
  EXPECT_EQ(errorOf(modelOf(std::vector<double>(4096, 0.001)),
                    builder.finish().take(), exactly(1)),
            "640 devices and 4096 layers leave too many ways to cut: describe "
            "fewer devices");
}

TEST(PartitionTest, GoesByWhatWasMeasuredOfADevice) {
  ModelCost model = modelOf({1, 1, 1, 1, 1, 1});
  DeviceSpec measured = deviceOf(64);
  Expected<Partition> same =
      partition(model, clusterOf({deviceOf(64), measured}), exactly(2));
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(layersOf(*same), (std::vector<int64_t>{3, 3}));
  // Half as fast as its description says.
  measured.weightSeconds = RowCurve::create({{1, 2.0 / double(gib)}}).take();
  Expected<Partition> cut =
      partition(model, clusterOf({deviceOf(64), measured}), exactly(2));
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_EQ(layersOf(*cut), (std::vector<int64_t>{4, 2}));
}

} // namespace
