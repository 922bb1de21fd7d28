//===- StepCostTest.cpp - tests of StepCost.h -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Analysis/StepCost.h"

#include "AnalysisModels.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

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
      ModelCost imported = costOfPart(model), described = shape.cost();
      EXPECT_EQ(imported.hidden, described.hidden);
      EXPECT_EQ(imported.embedding, described.embedding);
      EXPECT_EQ(imported.layers, described.layers);
      EXPECT_EQ(imported.output, described.output);
      EXPECT_EQ(imported.tiedBytes, described.tiedBytes);
    }
}

TEST(StepCostTest, AMemberOfAGroupHasItsPartAndTheCollectives) {
  ModelShape shape = smallShape();
  shape.feedForward = 192; // three blocks of q8_0 for each member
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(&context, modelText(shape));
  ASSERT_TRUE(module);
  ModelCost whole = costOfPart(*module->getOps<ir::ModelOp>().begin());
  PassManager passes(&context);
  ShardTensorsOptions options;
  options.tensorParallel = 2;
  passes.addPass(createShardTensors(options));
  ASSERT_TRUE(succeeded(passes.run(*module)));
  ModelCost member = costOfPart(*module->getOps<ir::ModelOp>().begin());

  // Each member has the whole weights of the norms.
  int64_t norms = 2 * 64 * int64_t(sizeof(float));
  EXPECT_EQ(member.layers[0].weightBytes() - norms,
            (whole.layers[0].weightBytes() - norms) / 2);
  EXPECT_EQ(member.layers[0].cacheBytesPerPosition(),
            whole.layers[0].cacheBytesPerPosition() / 2);
  auto linkBytes = [](const PartCost &cost) {
    int64_t bytes = 0;
    for (const OpCost &op : cost.ops)
      bytes += op.linkBytesPerRow;
    return bytes;
  };
  EXPECT_EQ(linkBytes(whole.layers[0]), 0);
  // There are two sums of 64 features, half of which go each way, and 48 of 96
  // logits are sent.
  EXPECT_EQ(linkBytes(member.layers[0]), 2 * 2 * 32 * 4);
  EXPECT_EQ(linkBytes(member.output), 48 * 4);
}

TEST(StepCostTest, StretchesAreTheWholeStep) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(&context, modelText(smallShape()));
  ASSERT_TRUE(module);
  auto model = *module->getOps<ir::ModelOp>().begin();
  DeviceSpec device{.memoryBytes = 1,
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
  SmallVector<ExecutedOp> ops = executedOps(model);
  // The ops are the embedding, 15 ops of each layer, select_outputs, a norm and
  // a product.
  EXPECT_EQ(ops.size(), 1u + 3 * 15 + 3);
  EXPECT_FALSE(ops.front().ofOutput);
  EXPECT_TRUE(ops.back().ofOutput);
}

TEST(StepCostTest, PredictedCostsNeverFall) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(&context, modelText(smallShape()));
  auto model = *module->getOps<ir::ModelOp>().begin();
  // On this device every step rounds to 0 ns.
  SmallVector<int64_t> costs = predictedCosts(
      stageCostOf(model, {.bytesPerSecond = 1e18, .flopsPerSecond = 1e18}), 0);
  EXPECT_EQ(costs, SmallVector<int64_t>(StepTimes::rowCounts.size(), 1));
}

} // namespace
