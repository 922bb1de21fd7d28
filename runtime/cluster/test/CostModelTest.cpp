//===- CostModelTest.cpp - tests of CostModel.h ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/CostModel.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cluster;

namespace {

/// Returns a model with two different layers, an embedding that is looked up,
/// and an output.
ModelCost smallModel() {
  ModelCost model;
  model.hidden = 16;
  model.embedding.ops = {{.bytesPerRow = 10}};
  model.embedding.memoryBytes = 500;
  PartCost layer;
  layer.ops = {{.weightBytes = 1000, .flopsPerRow = 2000},
               {.weightBytes = 1000, .flopsPerRow = 2000},
               {.flopsPerRowAndPosition = 40, .cacheBytesPerPosition = 8}};
  layer.memoryBytes = 2000;
  model.layers = {layer, layer};
  model.output.ops = {{.weightBytes = 300, .flopsPerRow = 600}};
  model.output.memoryBytes = 500;
  model.tiedBytes = 500;
  return model;
}

/// Returns a device that reads 100 B/s and computes 1,000 FLOP/s.
DeviceSpec slowDevice() {
  return {.memoryBytes = 1 << 20,
          .bytesPerSecond = 100,
          .flopsPerSecond = 1000,
          .overheadSeconds = 3,
          .rowSeconds = 0.5};
}

TEST(CostModelTest, AnOpTakesItsMemoryOrItsArithmetic) {
  OpCost op{.weightBytes = 1000,
            .flopsPerRow = 2000,
            .flopsPerRowAndPosition = 10,
            .cacheBytesPerPosition = 5,
            .bytesPerRow = 100};
  DeviceSpec device = slowDevice();
  EXPECT_DOUBLE_EQ(opSeconds(op, 1, 0, device), 11);
  EXPECT_DOUBLE_EQ(opSeconds(op, 1, 20, device), 12);
  EXPECT_DOUBLE_EQ(opSeconds(op, 10, 0, device), 20);
  EXPECT_DOUBLE_EQ(opSeconds(op, 10, 100, device), 30);
}

TEST(CostModelTest, AStepIsItsOpsAndItsOverheads) {
  ModelCost model = smallModel();
  StageCost all(model, wholeModel(model), slowDevice());
  // Bound by memory: 3 + 0.5 + 0.1 + 2 * (20 + 0.8) + 3.
  EXPECT_DOUBLE_EQ(all.seconds({.rows = 1, .outputs = 1, .context = 10}),
                   3 + 0.5 + 0.1 + 2 * 20.8 + 3);
  // Bound by arithmetic, with one output.
  EXPECT_DOUBLE_EQ(all.seconds({.rows = 10, .outputs = 1, .context = 10}),
                   3 + 5 + 1 + 2 * (40 + 4) + 3);
  EXPECT_EQ(all.seconds({.rows = 0, .outputs = 0}), 0);
  StageCost middle(model, {.firstLayer = 1, .layers = 1}, slowDevice());
  EXPECT_DOUBLE_EQ(middle.seconds({.rows = 1, .context = 10}), 3.5 + 20.8);
  EXPECT_EQ(middle.time({.rows = 1, .context = 10}), Time(24300000000));
}

RowCurve curveOf(std::vector<RowCurve::Point> points) {
  Expected<RowCurve> curve = RowCurve::create(std::move(points));
  EXPECT_TRUE(curve.ok()) << curve.status().message();
  return curve.take();
}

TEST(CostModelTest, WeightsTakeWhatWasMeasured) {
  DeviceSpec device = slowDevice();
  device.weightSeconds = curveOf({{1, 0.02}, {9, 0.1}});
  OpCost op{.weightBytes = 1000, .flopsPerRow = 2000, .bytesPerRow = 100};
  EXPECT_DOUBLE_EQ(opSeconds(op, 1, 50, device), 20);
  // Half way between the line and the time of a row in steps of nine.
  constexpr double five = (60 + 5 * 100 / 9.0) / 2;
  EXPECT_DOUBLE_EQ(opSeconds(op, 5, 50, device), five);
  EXPECT_DOUBLE_EQ(opSeconds(op, 18, 50, device), 200);
  // Ops without weights take the same time as before, and links are added.
  OpCost attend{.flopsPerRowAndPosition = 40, .cacheBytesPerPosition = 8};
  EXPECT_EQ(opSeconds(attend, 5, 50, device),
            opSeconds(attend, 5, 50, slowDevice()));
  device.peers = Link{2, 100};
  op.linkRounds = 3;
  op.linkBytesPerRow = 10;
  EXPECT_DOUBLE_EQ(opSeconds(op, 5, 50, device), five + 3 * 2 + 0.5);
}

TEST(CostModelTest, StepsTakeWhatWasMeasuredOfThem) {
  ModelCost model = smallModel();
  DeviceSpec device = slowDevice();
  // If everything is bound by arithmetic, the time is that of the rows.
  RowCurve steps = curveOf({{1, 60}, {2, 61}, {4, 80}, {8, 160}});
  Expected<RowCurve> curve = weightCurve(steps, model, 10, device);
  ASSERT_TRUE(curve.ok()) << curve.status().message();
  device.weightSeconds = *curve;
  StageCost all(model, wholeModel(model), device);
  auto seconds = [&](int64_t rows) {
    return all.seconds({.rows = rows, .outputs = rows, .context = 10});
  };
  for (int64_t rows : {1, 2, 4})
    EXPECT_DOUBLE_EQ(seconds(rows), steps.seconds(rows));
  // The constant part of a step is shorter for each row of a longer step; the
  // weights' part may not get longer because of it.
  EXPECT_LE(seconds(8), 160);
  EXPECT_NEAR(seconds(8), 160, 160 * 0.05);
  EXPECT_NEAR(seconds(3), 66.25, 0.5);
  // Two layers take the same time at every place.
  StageCost half(model, {.firstLayer = 1, .layers = 1}, device);
  EXPECT_LT(half.seconds({.rows = 4, .context = 10}), seconds(4) / 2);
}

TEST(CostModelTest, StepsThatLeaveWeightsNoTimeAreRefused) {
  ModelCost model = smallModel();
  model.name = "small";
  // The overheads alone are 3.5 s, attention is 1.6 s.
  EXPECT_EQ(weightCurve(curveOf({{1, 5}}), model, 10, slowDevice())
                .status()
                .message(),
            "steps of 1 rows of 'small' take 5 s: without weights alone 5.2 s");
}

TEST(CostModelTest, TheTableFollowsTheRowCounts) {
  ModelCost model = smallModel();
  StageCost all(model, wholeModel(model), slowDevice());
  StepTable table = all.table(10);
  for (size_t i = 0; i < table.size(); ++i) {
    int64_t rows = StepTimes::rowCounts[i];
    EXPECT_EQ(table[i],
              all.time({.rows = rows, .outputs = rows, .context = 10}));
    if (i > 0)
      EXPECT_GE(table[i], table[i - 1]);
  }
}

TEST(CostModelTest, MemoryCountsSharedTablesOnce) {
  ModelCost model = smallModel();
  EXPECT_EQ(stageMemoryBytes(model, wholeModel(model), 0), 4500);
  EXPECT_EQ(stageMemoryBytes(model, wholeModel(model), 100), 4500 + 1600);
  EXPECT_EQ(stageMemoryBytes(
                model, {.firstLayer = 0, .layers = 1, .embedding = true}, 100),
            2500 + 800);
  StageCost all(model, wholeModel(model), slowDevice());
  EXPECT_EQ(all.memoryBytes(), 4500);
  EXPECT_EQ(all.cacheBytesPerPosition(), 16);
}

TEST(CostModelTest, ALinkTakesItsLatencyAndItsBytes) {
  Link link{0.5, 100};
  EXPECT_DOUBLE_EQ(linkSeconds(link, 200), 2.5);
  EXPECT_DOUBLE_EQ(linkOccupancySeconds(link, 200), 2);
  EXPECT_EQ(toTime(1e-6), Time(1000));
}

} // namespace
