//===- StepCostTest.cpp - tests of StepCost.h -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Analysis/StepCost.h"

#include "TestModels.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sluice;
using namespace sluice::cluster;

namespace {

ModelShape smallShape() {
  return {.name = "small",
          .layers = 3,
          .hidden = 64,
          .feedForward = 160,
          .heads = 4,
          .kvHeads = 2,
          .headDim = 16,
          .vocab = 96,
          .bitsPerWeight = 8.5};
}

TEST(StepCostTest, AnImportedModelCostsWhatItsShapeDoes) {
  for (bool gated : {true, false})
    for (bool tied : {true, false}) {
      ModelShape shape = smallShape();
      shape.gated = gated;
      shape.tied = tied;
      MLIRContext context;
      OwningOpRef<ModuleOp> module = parse(&context, modelText(shape));
      ASSERT_TRUE(module);
      auto model = *module->getOps<ir::ModelOp>().begin();
      ModelCost imported = costOfFrame(model), described = shape.cost();
      EXPECT_EQ(imported.hidden, described.hidden);
      EXPECT_EQ(imported.embedding, described.embedding);
      EXPECT_EQ(imported.layers, described.layers);
      EXPECT_EQ(imported.output, described.output);
      EXPECT_EQ(imported.tiedBytes, described.tiedBytes);
    }
}

TEST(StepCostTest, StretchesAreTheWholeStep) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(&context, modelText(smallShape()));
  ASSERT_TRUE(module);
  auto model = *module->getOps<ir::ModelOp>().begin();
  Device device{.memoryBytes = 1,
                .bytesPerSecond = 1e6,
                .flopsPerSecond = 1e6,
                .overheadSeconds = 0.25,
                .rowSeconds = 0.125};
  SmallVector<double> seconds = stretchSeconds(model, 5, 100, device);
  ASSERT_EQ(seconds.size(), 1u);
  EXPECT_NEAR(seconds[0],
              stageCostOf(model, device)
                  .seconds({.rows = 5, .outputs = 5, .context = 100}),
              1e-9);
  SmallVector<FrameOp> ops = executedOps(model);
  // Embedding, 15 ops of each layer, and selecting, norm and product.
  EXPECT_EQ(ops.size(), 1u + 3 * 15 + 3);
  EXPECT_FALSE(ops.front().ofOutput);
  EXPECT_TRUE(ops.back().ofOutput);
}

TEST(StepCostTest, PredictedCostsNeverFall) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(&context, modelText(smallShape()));
  auto model = *module->getOps<ir::ModelOp>().begin();
  // So fast that every step rounds to nothing.
  SmallVector<int64_t> costs = predictedCosts(
      stageCostOf(model, {.bytesPerSecond = 1e18, .flopsPerSecond = 1e18}), 0);
  EXPECT_EQ(costs, SmallVector<int64_t>(StepTimes::rowCounts.size(), 1));
}

} // namespace
