//===- PartitionStagesTest.cpp - tests of the pass that cuts stages -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AnalysisModels.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sluice;

namespace {

TEST(PartitionStagesTest, OnePassCutsSeveralModules) {
  cluster::ModelShape shape{.name = "small",
                            .layers = 3,
                            .hidden = 64,
                            .feedForward = 160,
                            .heads = 4,
                            .kvHeads = 2,
                            .headDim = 16,
                            .vocab = 96,
                            .bitsPerWeight = 8.5};
  MLIRContext context;
  OwningOpRef<ModuleOp> first =
      parse(&context, modelText(shape) + modelText(shape, "draft"));
  OwningOpRef<ModuleOp> second =
      parse(&context, modelText(shape) + modelText(shape, "draft"));
  ASSERT_TRUE(first && second);
  PassManager passes(&context);
  passes.addPass(createPartitionStages());
  EXPECT_TRUE(succeeded(passes.run(*first)));
  EXPECT_TRUE(succeeded(passes.run(*second)));
}

} // namespace
