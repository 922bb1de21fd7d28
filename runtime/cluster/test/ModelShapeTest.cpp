//===- ModelShapeTest.cpp - tests of ModelShape.h -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/ModelShape.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cluster;

namespace {

ModelShape llama70b() {
  return {.name = "llama-70b",
          .layers = 80,
          .hidden = 8192,
          .feedForward = 28672,
          .heads = 64,
          .kvHeads = 8,
          .headDim = 128,
          .vocab = 32000,
          .bitsPerWeight = 4.5};
}

TEST(ModelShapeTest, CountsParameters) {
  // As published for Llama 2 70B.
  EXPECT_EQ(llama70b().parameters(), 68976648192);
}

TEST(ModelShapeTest, CostsFollowFromParameters) {
  ModelShape shape = llama70b();
  ModelCost cost = shape.cost();
  ASSERT_EQ(cost.layers.size(), 80u);
  EXPECT_EQ(cost.hidden, 8192);
  EXPECT_EQ(cost.vocab, 32000);
  // Matrices in 4.5 bits, norms in f32.
  int64_t matrices = 8192 * (2 * 8192 + 2 * 1024 + 3 * 28672);
  EXPECT_EQ(cost.layers[0].memoryBytes, matrices * 9 / 16 + 2 * 8192 * 4);
  EXPECT_EQ(cost.layers[0].weightBytes(), cost.layers[0].memoryBytes);
  // Two operations for each weight, and a few for each feature.
  int64_t flops = 0;
  for (const OpCost &op : cost.layers[0].ops)
    flops += op.flopsPerRow;
  EXPECT_NEAR(double(flops), 2.0 * double(matrices), 1e6);
  // Keys and values of eight heads, in f32.
  EXPECT_EQ(cost.layers[0].cacheBytesPerPosition(), 2 * 8 * 128 * 4);
  // The embedding is stored but not read completely; the output is.
  EXPECT_EQ(cost.embedding.memoryBytes, int64_t(32000) * 8192 * 9 / 16);
  EXPECT_EQ(cost.embedding.weightBytes(), 0);
  EXPECT_EQ(cost.output.weightBytes(),
            int64_t(32000) * 8192 * 9 / 16 + 8192 * 4);
  EXPECT_EQ(cost.tiedBytes, 0);
  EXPECT_EQ(stageMemoryBytes(cost, wholeModel(cost), 0),
            (shape.parameters() - 161 * 8192) * 9 / 16 + 161 * 8192 * 4);
}

TEST(ModelShapeTest, AGateIsAThirdMatrix) {
  ModelShape gated = llama70b(), plain = llama70b();
  plain.gated = false;
  EXPECT_EQ(gated.cost().layers[0].memoryBytes -
                plain.cost().layers[0].memoryBytes,
            int64_t(8192) * 28672 * 9 / 16);
  plain.tied = true;
  EXPECT_EQ(plain.cost().tiedBytes, plain.cost().embedding.memoryBytes);
}

TEST(ModelShapeTest, KnowsFormats) {
  EXPECT_EQ(bitsOfFormat("f16"), 16);
  EXPECT_EQ(bitsOfFormat("q4_k"), 4.5);
  EXPECT_EQ(bitsOfFormat("q3_k"), 3.4375);
  EXPECT_EQ(bitsOfFormat("q2_k"), 2.625);
  EXPECT_EQ(bitsOfFormat("q4"), std::nullopt);
}

TEST(ModelShapeTest, RefusesWhatIsNoModel) {
  EXPECT_TRUE(llama70b().validate().ok());
  for (auto field :
       {&ModelShape::layers, &ModelShape::hidden, &ModelShape::feedForward,
        &ModelShape::heads, &ModelShape::kvHeads, &ModelShape::headDim,
        &ModelShape::vocab})
    for (int64_t value : {int64_t(0), int64_t(-1), int64_t(1) << 40}) {
      ModelShape shape = llama70b();
      shape.*field = value;
      EXPECT_FALSE(shape.validate().ok());
    }
  ModelShape shape = llama70b();
  shape.kvHeads = 5;
  EXPECT_EQ(shape.validate().message(),
            "model 'llama-70b': 64 heads are no multiple of 5 key heads");
}

TEST(ModelShapeTest, TheLargestOneDoesNotOverflow) {
  ModelShape shape{.name = "huge",
                   .layers = 4096,
                   .hidden = 1 << 20,
                   .feedForward = 1 << 20,
                   .heads = 4096,
                   .kvHeads = 4096,
                   .headDim = 4096,
                   .vocab = 1 << 22,
                   .bitsPerWeight = 32};
  ASSERT_TRUE(shape.validate().ok());
  EXPECT_GT(shape.parameters(), 0);
  ModelCost cost = shape.cost();
  EXPECT_GT(stageMemoryBytes(cost, wholeModel(cost), 0), 0);
}

} // namespace
