//===- CheckpointsTest.cpp - tests of StageCost::checkpoints() ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/CostModel.h"
#include "runtime/cluster/ModelShape.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace sluice;
using namespace sluice::cluster;

namespace {

/// Returns a stage of `layers` layers, each of which reads `bytes` and does
/// `flops` for each row.
StageCost stageOf(int64_t layers, int64_t bytes, int64_t flops,
                  const DeviceSpec &device) {
  ModelCost model;
  PartCost layer;
  layer.ops = {{.weightBytes = bytes, .flopsPerRow = flops}};
  layer.memoryBytes = bytes;
  model.layers.assign(size_t(layers), layer);
  return {model, {.firstLayer = 0, .layers = layers}, device};
}

DeviceSpec deviceOf(double bandwidth, double flops) {
  return {.memoryBytes = uint64_t(1) << 40,
          .bytesPerSecond = bandwidth,
          .flopsPerSecond = flops};
}

TEST(CheckpointsTest, FullRowsAreTheFewestThatComputeAPromptAtFullSpeed) {
  // The weights take 10 ms, and a row computes for 2 ms: in long steps a row
  // takes 2 ms, in steps of four 2.5 ms.
  StageCost stage = stageOf(4, 10000000, 2000000, deviceOf(1e9, 1e9));
  EXPECT_EQ(stage.fullRows(512, 0), 5);
  EXPECT_EQ(stage.fullRows(3, 0), 3);
  // Always bound by arithmetic.
  EXPECT_EQ(stageOf(1, 1, 1000, deviceOf(1e9, 1e9)).fullRows(512, 0), 1);
  // Never bound by arithmetic: the most rows, to within 5 % of the rate of 512
  // rows.
  EXPECT_EQ(stageOf(1, 1000, 0, deviceOf(1e9, 1e9)).fullRows(512, 0), 488);
  // With an overhead of 40 ms: 2 ms of it are 5 % of what 20 rows compute.
  DeviceSpec slow = deviceOf(1e9, 1e9);
  slow.overheadSeconds = 40e-3;
  int64_t rows = stageOf(1, 10000000, 2000000, slow).fullRows(1 << 16, 0);
  EXPECT_NEAR(double(rows), 400, 10);
}

TEST(CheckpointsTest, FullRowsCountTheCacheThatIsRead) {
  ModelCost model;
  model.layers.resize(1);
  model.layers[0].ops = {
      {.weightBytes = 10000000, .flopsPerRow = 2000000},
      {.flopsPerRowAndPosition = 1000, .cacheBytesPerPosition = 10000}};
  StageCost stage(model, {.firstLayer = 0, .layers = 1}, deviceOf(1e9, 1e9));
  EXPECT_EQ(stage.fullRows(512, 0), 5);
  // Reading 10000 positions takes 100 ms, and a row's arithmetic 10 ms.
  EXPECT_EQ(stage.fullRows(512, 10000), 10);
}

TEST(CheckpointsTest, FullRowsAgreeWithTryingAllNumbers) {
  std::mt19937_64 random(5);
  auto pick = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(
        std::log(low), std::log(high))(random));
  };
  for (int i = 0; i < 500; ++i) {
    DeviceSpec device = deviceOf(pick(1e9, 1e12), pick(1e10, 1e14));
    device.overheadSeconds = pick(1e-9, 1e-3);
    device.rowSeconds = pick(1e-9, 1e-5);
    StageCost stage = stageOf(int64_t(pick(1, 100)), int64_t(pick(1e3, 1e9)),
                              int64_t(pick(1e3, 1e10)), device);
    auto perRow = [&](int64_t rows) {
      return stage.seconds({.rows = rows, .outputs = rows, .context = 100}) /
             double(rows);
    };
    int64_t limit = int64_t(pick(1, 600));
    double min = perRow(1);
    for (int64_t rows = 2; rows <= limit; ++rows)
      min = std::min(min, perRow(rows));
    int64_t full = stage.fullRows(limit, 100);
    EXPECT_LE(perRow(full), min * (1.05 + 1e-6));
    if (full > 1)
      EXPECT_GT(perRow(full - 1), min * (1.05 - 1e-6));
  }
}

TEST(CheckpointsTest, NoStretchIsLongerThanTheLimit) {
  std::mt19937_64 random(11);
  auto pick = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(
        std::log(low), std::log(high))(random));
  };
  for (int i = 0; i < 2000; ++i) {
    DeviceSpec device = deviceOf(pick(1e9, 1e12), pick(1e10, 1e14));
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
    EXPECT_GE(schedule.stepRows, stage.fullRows(512, 100));
    EXPECT_LE(schedule.stepRows, 512);
    // With one more row, or one fewer checkpoint, a stretch would be too long.
    if (schedule.stepRows < 512)
      EXPECT_GT(stretch(schedule.stepRows + 1, schedule.checkpoints),
                seconds * (1 - 1e-8));
    if (schedule.checkpoints > 0)
      EXPECT_GT(stretch(stage.fullRows(512, 100), schedule.checkpoints - 1),
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
