//===- CheckpointsTest.cpp - tests of StageCost::checkpoints() ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/CostModel.h"
#include "runtime/cluster/ModelShape.h"

#include <cmath>

#include <gtest/gtest.h>
#include <random>

using namespace sluice;
using namespace sluice::cluster;

namespace {

/// A stage of `layers` layers that reads `bytes` in each and does `flops` a
/// row.
StageCost stageOf(int64_t layers, int64_t bytes, int64_t flops,
                  const Device &device) {
  ModelCost model;
  PartCost layer;
  layer.ops = {{.weightBytes = bytes, .flopsPerRow = flops}};
  layer.memoryBytes = bytes;
  model.layers.assign(size_t(layers), layer);
  return {model, {.firstLayer = 0, .layers = layers}, device};
}

Device deviceOf(double bandwidth, double flops) {
  return {.memoryBytes = uint64_t(1) << 40,
          .bytesPerSecond = bandwidth,
          .flopsPerSecond = flops};
}

TEST(CheckpointsTest, FullRowsIsWhereArithmeticTakesAsLongAsMemory) {
  // One row computes for 2 ms, the weights take 10 ms.
  StageCost stage = stageOf(4, 10000000, 2000000, deviceOf(1e9, 1e9));
  EXPECT_EQ(stage.fullRows(512), 5);
  EXPECT_EQ(stage.fullRows(3), 3);
  EXPECT_NEAR(stage.seconds({.rows = 5}), stage.seconds({.rows = 1}), 1e-12);
  EXPECT_GT(stage.seconds({.rows = 6}), stage.seconds({.rows = 1}));
  // A row's own bytes take 2.5 ms.
  ModelCost model;
  model.layers.resize(1);
  model.layers[0].ops = {{.weightBytes = 10000000, .flopsPerRow = 2000000},
                         {.bytesPerRow = 500000}};
  StageCost moves(model, {.firstLayer = 0, .layers = 1}, deviceOf(1e9, 1e9));
  EXPECT_EQ(moves.fullRows(512), 4);
  // Always bound by arithmetic.
  EXPECT_EQ(stageOf(1, 1, 1000, deviceOf(1e9, 1e9)).fullRows(512), 1);
  EXPECT_EQ(stageOf(1, 1000, 0, deviceOf(1e9, 1e9)).fullRows(512), 1);
}

TEST(CheckpointsTest, NoStretchIsLongerThanTheLimit) {
  std::mt19937_64 random(11);
  auto pick = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(
        std::log(low), std::log(high))(random));
  };
  for (int i = 0; i < 2000; ++i) {
    Device device = deviceOf(pick(1e9, 1e12), pick(1e10, 1e14));
    device.overheadSeconds = pick(1e-9, 1e-4);
    StageCost stage = stageOf(int64_t(pick(1, 100)), int64_t(pick(1e3, 1e9)),
                              int64_t(pick(1e3, 1e10)), device);
    Time limit(int64_t(pick(1e4, 1e7)));
    CheckpointSchedule schedule = stage.checkpoints(limit, 512, 100);
    auto stretch = [&](int64_t rows, int64_t checkpoints) {
      return stage.seconds({.rows = rows, .outputs = rows, .context = 100}) /
             double(checkpoints + 1);
    };
    double seconds = double(limit.count()) * 1e-9 * (1 + 1e-9);
    EXPECT_LE(stretch(schedule.stepRows, schedule.checkpoints), seconds);
    EXPECT_GE(schedule.stepRows, stage.fullRows(512));
    EXPECT_LE(schedule.stepRows, 512);
    // No row more, and no checkpoint fewer.
    if (schedule.stepRows < 512)
      EXPECT_GT(stretch(schedule.stepRows + 1, schedule.checkpoints),
                seconds * (1 - 1e-8));
    if (schedule.checkpoints > 0)
      EXPECT_GT(stretch(stage.fullRows(512), schedule.checkpoints - 1),
                seconds * (1 - 1e-8));
  }
}

TEST(CheckpointsTest, NoneWithoutALimit) {
  StageCost stage = stageOf(10, 1000000, 1000000, deviceOf(1e6, 1e6));
  CheckpointSchedule schedule = stage.checkpoints(Time(0), 64, 0);
  EXPECT_EQ(schedule.checkpoints, 0);
  EXPECT_EQ(schedule.stepRows, 64);
}

} // namespace
