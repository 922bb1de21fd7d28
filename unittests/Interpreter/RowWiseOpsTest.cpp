//===- RowWiseOpsTest.cpp - embedding, norms, rope, activations -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every expected value here was computed by hand from the op's description.
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/Ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

using namespace sluice;
using namespace sluice::interpreter;
using testing::FloatNear;
using testing::Pointwise;

namespace {

std::vector<float> elements(const RowData &rows) {
  return {rows.elements().begin(), rows.elements().end()};
}

#define EXPECT_ROWS(actual, ...)                                               \
  EXPECT_THAT(elements(actual),                                                \
              Pointwise(FloatNear(1e-6), std::vector<float>{__VA_ARGS__}))

TEST(EmbedTest, TakesTheRowsThatTheIndicesName) {
  WeightData table{3, 2, {1, 2, 3, 4, 5, 6}};
  EXPECT_ROWS(evalEmbed(table, std::vector<int32_t>{2, 0, 2}), 5, 6, 1, 2, 5,
              6);
}

TEST(RmsNormTest, DividesByTheRootMeanSquare) {
  // The mean squares are (9 + 16) / 2 = 12.5 and 0.
  WeightData weight{1, 2, {1, 2}};
  float scale = 1 / std::sqrt(12.5f);
  EXPECT_ROWS(evalRmsNorm(RowData(2, {3, 4, 0, 0}), weight, 1, 1e-12),
              3 * scale, 8 * scale, 0, 0);
}

TEST(RmsNormTest, AddsEpsilonUnderTheRoot) {
  WeightData weight{1, 2, {1, 1}};
  EXPECT_ROWS(evalRmsNorm(RowData(2, {1, 1}), weight, 1, 3), 0.5, 0.5);
}

TEST(RmsNormTest, TreatsEachHeadByItself) {
  // Two rows of two heads, whose mean squares are 12.5, 2, 8 and 0.
  WeightData weight{1, 2, {1, 2}};
  RowData input(4, {3, 4, 0, 2, 4, 0, 0, 0});
  float first = 1 / std::sqrt(12.5f);
  EXPECT_ROWS(evalRmsNorm(input, weight, 2, 1e-12), 3 * first, 8 * first, 0,
              4 / std::sqrt(2.f), 4 / std::sqrt(8.f), 0, 0, 0);
}

TEST(LayerNormTest, TreatsEachHeadByItself) {
  // The means are 2 and 6, the variances 1 and 4.
  WeightData weight{1, 2, {10, 10}};
  WeightData bias{1, 2, {1, -1}};
  EXPECT_ROWS(evalLayerNorm(RowData(4, {1, 3, 8, 4}), weight, &bias, 2, 0), -9,
              9, 11, -11);
}

TEST(LayerNormTest, CentresAndScales) {
  // The mean is 2, the variance 1.
  WeightData weight{1, 2, {10, 10}};
  WeightData bias{1, 2, {1, -1}};
  EXPECT_ROWS(evalLayerNorm(RowData(2, {1, 3}), weight, &bias, 1, 0), -9, 9);
}

TEST(LayerNormTest, WorksWithoutBiasAndWithEpsilon) {
  WeightData weight{1, 2, {1, 2}};
  // The second row has the variance 0.
  RowData input(2, {1, 3, 5, 5});
  EXPECT_ROWS(evalLayerNorm(input, weight, nullptr, 1, 3), -0.5, 1, 0, 0);
}

TEST(LinearTest, MultipliesWithRowsOfTheWeight) {
  WeightData weight{3, 2, {1, 0, 0, 1, 2, 3}}; // [out = 3][in = 2]
  EXPECT_ROWS(evalLinear(RowData(2, {5, 7, 1, -1}), weight, nullptr, false,
                         {0, weight.rows}),
              5, 7, 31, 1, -1, -1);
}

TEST(LinearTest, AddsTheBias) {
  WeightData weight{2, 2, {1, 0, 0, 1}};
  WeightData bias{1, 2, {10, 20}};
  EXPECT_ROWS(
      evalLinear(RowData(2, {1, 2}), weight, &bias, false, {0, weight.rows}),
      11, 22);
}

TEST(LinearTest, TransposedReadsTheWeightByColumns) {
  WeightData weight{2, 3, {1, 0, 2, 0, 1, 3}}; // [in = 2][out = 3]
  WeightData bias{1, 3, {0, 0, 100}};
  EXPECT_ROWS(
      evalLinear(RowData(2, {5, 7}), weight, &bias, true, {0, weight.cols}), 5,
      7, 131);
}

TEST(LinearTest, SumsRowsOfAnyLength) {
  // The sum is 1 + 2 + ... + n, with lengths around the number of lanes.
  for (int64_t n : {1, 7, 8, 9, 15, 16, 17}) {
    std::vector<float> ones(n, 1);
    std::vector<float> numbers;
    for (int64_t i = 1; i <= n; ++i)
      numbers.push_back(i);
    RowData result =
        evalLinear(RowData(n, numbers), {1, n, ones}, nullptr, false, {0, 1});
    EXPECT_EQ(result.row(0)[0], n * (n + 1) / 2) << n;
  }
}

TEST(SplitQKVTest, ConcatHasQueriesThenKeysThenValues) {
  RowData input(8, {0, 1, 2, 3, 4, 5, 6, 7});
  // There are four query heads and two key heads of one feature.
  QKVRows split = evalSplitQKV(input, ir::QKVLayout::Concat, 4, 2, 1);
  EXPECT_ROWS(split.query, 0, 1, 2, 3);
  EXPECT_ROWS(split.key, 4, 5);
  EXPECT_ROWS(split.value, 6, 7);
}

TEST(SplitQKVTest, GroupedHasOneGroupForEachKeyHead) {
  RowData input(8, {0, 1, 2, 3, 4, 5, 6, 7});
  QKVRows split = evalSplitQKV(input, ir::QKVLayout::Grouped, 4, 2, 1);
  EXPECT_ROWS(split.query, 0, 1, 4, 5);
  EXPECT_ROWS(split.key, 2, 6);
  EXPECT_ROWS(split.value, 3, 7);
}

TEST(SplitQKVTest, LayoutsAgreeForMultiQuery) {
  RowData input(8, {0, 1, 2, 3, 4, 5, 6, 7});
  QKVRows concat = evalSplitQKV(input, ir::QKVLayout::Concat, 2, 1, 2);
  QKVRows grouped = evalSplitQKV(input, ir::QKVLayout::Grouped, 2, 1, 2);
  EXPECT_EQ(elements(concat.query), elements(grouped.query));
  EXPECT_EQ(elements(concat.key), elements(grouped.key));
  EXPECT_EQ(elements(concat.value), elements(grouped.value));
}

/// Returns a quarter turn per position for pair 0, and none for pair 1.
RopeParams quarterTurns(ir::RopeStyle style, int64_t heads, int64_t headDim) {
  ir::RopeFrequencies frequencies;
  frequencies.inverse = {static_cast<float>(std::numbers::pi / 2), 0};
  return {style, heads, headDim, frequencies};
}

TEST(RopeTest, InterleavedTurnsNeighbours) {
  RowData input(4, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4});
  EXPECT_ROWS(evalRope(input, std::vector<int32_t>{0, 1, 2},
                       quarterTurns(ir::RopeStyle::Interleaved, 1, 4)),
              1, 2, 3, 4, -2, 1, 3, 4, -1, -2, 3, 4);
}

TEST(RopeTest, HalfTurnsFeaturesHalfAHeadApart) {
  RowData input(4, {1, 2, 3, 4});
  EXPECT_ROWS(evalRope(input, std::vector<int32_t>{1},
                       quarterTurns(ir::RopeStyle::Half, 1, 4)),
              -3, 2, 1, 4);
}

TEST(RopeTest, FeaturesBeyondTheRotatedOnesStay) {
  // There are two heads of six features, four of which are rotated.
  RowData input(12, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_ROWS(evalRope(input, std::vector<int32_t>{1},
                       quarterTurns(ir::RopeStyle::Half, 2, 6)),
              -3, 2, 1, 4, 5, 6, -9, 8, 7, 10, 11, 12);
}

TEST(RopeTest, AttentionFactorScalesWhatTurns) {
  RopeParams params = quarterTurns(ir::RopeStyle::Half, 1, 5);
  params.frequencies.attentionFactor = 2;
  EXPECT_ROWS(
      evalRope(RowData(5, {1, 2, 3, 4, 5}), std::vector<int32_t>{1}, params),
      -6, 4, 2, 8, 5);
}

TEST(ActivationTest, Values) {
  using enum ir::ActivationKind;
  EXPECT_NEAR(activate(Silu, 1), 0.7310585786, 1e-7);
  EXPECT_NEAR(activate(Silu, -2), -0.2384058440, 1e-7);
  EXPECT_NEAR(activate(Gelu, 1), 0.8413447461, 1e-7);
  EXPECT_NEAR(activate(Gelu, -1), -0.1586552539, 1e-7);
  EXPECT_NEAR(activate(GeluTanh, 1), 0.8411919906, 1e-7);
  EXPECT_NEAR(activate(GeluTanh, -1), -0.1588080094, 1e-7);
  EXPECT_EQ(activate(Relu, 3), 3);
  EXPECT_EQ(activate(Relu, -3), 0);
}

TEST(ActivationTest, ExtremesStayFinite) {
  using enum ir::ActivationKind;
  for (ir::ActivationKind kind : {Silu, Gelu, GeluTanh, Relu}) {
    EXPECT_EQ(activate(kind, 1e4f), 1e4f);
    EXPECT_EQ(activate(kind, -1e4f), 0);
  }
}

TEST(GateTest, ActivatesTheGateOnly) {
  EXPECT_ROWS(evalGate(ir::ActivationKind::Relu, RowData(2, {-1, 2}),
                       RowData(2, {5, -7})),
              0, -14);
}

TEST(AddTest, AddsElements) {
  EXPECT_ROWS(evalAdd(RowData(2, {1, 2}), RowData(2, {10, 20})), 11, 22);
}

TEST(AllReduceTest, AddsWhatMembersBringAndEachBiasOnce) {
  RowData a(2, {1, 2, 3, 4}), b(2, {10, 20, 30, 40}), c(2, {0.5, 0.5, 0, 0});
  const RowData *members[] = {&a, &b, &c};
  EXPECT_ROWS(evalAllReduce(members, {}), 11.5, 22.5, 33, 44);
  WeightData bias{1, 2, {100, 200}}, other{1, 2, {1000, 0}};
  const WeightData *biases[] = {&bias, &other};
  EXPECT_ROWS(evalAllReduce(members, biases), 1111.5, 222.5, 1133, 244);
}

TEST(AllGatherTest, PutsMembersSideBySide) {
  RowData a(2, {1, 2, 3, 4}), b(2, {5, 6, 7, 8});
  const RowData *members[] = {&a, &b};
  EXPECT_ROWS(evalAllGather(members, 4), 1, 2, 5, 6, 3, 4, 7, 8);
}

TEST(AllGatherTest, PartsOverlapWhereTheyHaveMoreThanThereIs) {
  // The inputs are the features 0 1, 2 3 and 3 4 of five.
  RowData a(2, {10, 11}), b(2, {12, 13}), c(2, {13, 14});
  const RowData *members[] = {&a, &b, &c};
  EXPECT_ROWS(evalAllGather(members, 5), 10, 11, 12, 13, 14);
}

TEST(SelectOutputsTest, KeepsMarkedRowsInOrder) {
  StepBatch batch(3, 3);
  ASSERT_TRUE(batch.add(0, 0, 5, true).ok());
  ASSERT_TRUE(batch.add(0, 1, 5, false).ok());
  ASSERT_TRUE(batch.add(1, 0, 5, true).ok());
  EXPECT_ROWS(evalSelectOutputs(RowData(2, {1, 2, 3, 4, 5, 6}), batch), 1, 2, 5,
              6);
}

} // namespace
