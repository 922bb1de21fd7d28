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

/// Two layers of different ops, an embedding that is looked up, an output.
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

/// Reads 100 B/s, computes 1,000 FLOP/s.
Device slowDevice() {
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
  Device device = slowDevice();
  EXPECT_DOUBLE_EQ(opSeconds(op, 1, 0, device), 11);
  EXPECT_DOUBLE_EQ(opSeconds(op, 1, 20, device), 12);
  EXPECT_DOUBLE_EQ(opSeconds(op, 10, 0, device), 20);
  EXPECT_DOUBLE_EQ(opSeconds(op, 10, 100, device), 30);
}

TEST(CostModelTest, AStepIsItsOpsAndItsOverheads) {
  ModelCost model = smallModel();
  StageCost all(model, wholeModel(model), slowDevice());
  // Memory bound: 3 + 0.5 + 0.1 + 2 * (20 + 0.8) + 3.
  EXPECT_DOUBLE_EQ(all.seconds({.rows = 1, .outputs = 1, .context = 10}),
                   3 + 0.5 + 0.1 + 2 * 20.8 + 3);
  // Arithmetic bound, one row with an output.
  EXPECT_DOUBLE_EQ(all.seconds({.rows = 10, .outputs = 1, .context = 10}),
                   3 + 5 + 1 + 2 * (40 + 4) + 3);
  EXPECT_EQ(all.seconds({.rows = 0, .outputs = 0}), 0);
  StageCost middle(model, {.firstLayer = 1, .layers = 1}, slowDevice());
  EXPECT_DOUBLE_EQ(middle.seconds({.rows = 1, .context = 10}), 3.5 + 20.8);
  EXPECT_EQ(middle.time({.rows = 1, .context = 10}), Time(24300000000));
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
