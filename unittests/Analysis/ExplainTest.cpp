//===- ExplainTest.cpp - tests of Explain.h -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Analysis/Explain.h"

#include "AnalysisModels.h"
#include "runtime/cluster/ClusterFile.h"
#include "sluice/Analysis/ClusterSpec.h"
#include "sluice/Analysis/StepCost.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sluice;
using namespace sluice::cluster;

namespace {

ModelShape shapeOf(int64_t layers, int64_t hidden) {
  return {.name = "m",
          .layers = layers,
          .hidden = hidden,
          .feedForward = 3 * hidden,
          .heads = hidden / 64,
          .kvHeads = hidden / 64,
          .headDim = 64,
          .vocab = 4096,
          .bitsPerWeight = 8.5};
}

TEST(ExplainTest, PrintsStagesAndDraft) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module =
      parse(&context,
            modelText(shapeOf(8, 1024)) + modelText(shapeOf(2, 256), "draft"));
  ASSERT_TRUE(module);
  Expected<ClusterFile> file = readClusterFile(SLUICE_CLUSTERS "/cpu8-1g.yaml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  setCluster(*module, file->cluster);
  ASSERT_TRUE(runPasses(*module,
                        "sluice-partition-stages{stages=3},sluice-insert-"
                        "speculation,sluice-insert-checkpoints{max-latency-us="
                        "200}"));
  Expected<std::string> table = explainStages(*module);
  ASSERT_TRUE(table.ok()) << table.status().message();
  const char *expected = R"(
stage    place  layers   weights   1 row   8 rows    memory   device  checkpoints  longest stretch  step rows
main.s0  n0     0-2     45.7 MiB  864 us  1.83 ms   142 MiB  120 GiB           12           196 us         10
main.s1  n1     3-5     41.5 MiB  864 us  1.83 ms   137 MiB  120 GiB           12           196 us         10
main.s2  n2     6-7     31.9 MiB  646 us  1.39 ms  95.9 MiB  120 GiB            9           196 us         10
draft    head   0-1     3.86 MiB  135 us   203 us  19.9 MiB  120 GiB            5           199 us         51
slowest stage 864 us, a row's trip 2.69 ms, of which on links 312 us
)";
  EXPECT_EQ("\n" + *table, expected);
}

TEST(ExplainTest, ADraftIsCostedAtItsOwnContext) {
  constexpr int64_t positions = 64; // the target has 4096
  constexpr double limit = 200e-6;
  MLIRContext context;
  OwningOpRef<ModuleOp> module =
      parse(&context,
            modelText(shapeOf(8, 1024)) + modelText(shapeOf(2, 256), "draft"));
  ASSERT_TRUE(module);
  auto draft = module->lookupSymbol<ir::ModelOp>("draft");
  draft.setContextLength(positions);
  SmallVector<int64_t> expected =
      predictedCosts(stageCostOf(draft, defaultDevice()), positions);
  ASSERT_TRUE(runPasses(*module,
                        "sluice-partition-stages{stages=2},sluice-insert-"
                        "speculation,sluice-insert-checkpoints{max-latency-us="
                        "200}"));
  ir::SpeculateOp speculate =
      (*module->getOps<ir::GenerateOp>().begin()).getSpeculate();
  ASSERT_TRUE(speculate.getCosts());
  EXPECT_EQ(llvm::to_vector(*speculate.getCosts()), expected);
  auto longest = [&](int64_t rows) {
    return *llvm::max_element(
        stretchSeconds(draft, rows, positions, defaultDevice()));
  };
  auto stepRows = int64_t(speculate.getStepRows().value());
  EXPECT_LE(longest(stepRows), limit);
  EXPECT_GT(longest(stepRows + 1), limit);
}

TEST(ExplainTest, ADraftBesideAStageCountsForItsMemory) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module =
      parse(&context,
            modelText(shapeOf(8, 1024)) + modelText(shapeOf(2, 256), "draft"));
  ASSERT_TRUE(module);
  ASSERT_TRUE(runPasses(
      *module, "sluice-partition-stages{stages=2 placement=head},sluice-insert-"
               "speculation{placement=head}"));
  Expected<std::string> table = explainStages(*module);
  ASSERT_TRUE(table.ok()) << table.status().message();
  const char *expected = R"(
stage    place  layers   weights    1 row   8 rows   memory  device  checkpoints  longest stretch  step rows
main.s0  n0     0-3     59.5 MiB  2.33 ms  3.13 ms  207 MiB       -            0          2.33 ms          -
main.s1  n1     4-7     59.5 MiB  2.44 ms   3.3 ms  188 MiB       -            0          2.44 ms          -
draft    n0     0-1     3.86 MiB   201 us   247 us  207 MiB       -            0           201 us          -
slowest stage 2.44 ms, a row's trip 4.83 ms, of which on links 63.4 us
)";
  EXPECT_EQ("\n" + *table, expected);
}

TEST(ExplainTest, SaysWhatIsMissing) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(&context, modelText(shapeOf(2, 64)));
  EXPECT_EQ(explainStages(*module).status().message(),
            "the module has no single sluice.pipeline");
}

} // namespace
