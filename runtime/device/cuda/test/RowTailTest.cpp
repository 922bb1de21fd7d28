//===- RowTailTest.cpp - what the last block of a launch does -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/LinearRun.h"

#include "runtime/device/cuda/kernels/KernelABI.h"
#include "runtime/device/cuda/test/LateInputs.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using emulator::Order;

namespace {

/// Adds as the threads of a generated kernel do (docs/RationaleCuda.md,
/// "Generated kernels"): `term(sum, x)` adds a number to a lane.
template <typename Term>
float sumInOrder(std::span<const float> row, int32_t threads, Term term) {
  std::vector<float> ofThreads;
  for (int32_t thread = 0; thread < threads; ++thread) {
    float lane[4] = {};
    for (size_t at = size_t(thread) * 4; at < row.size();
         at += size_t(threads) * 4)
      for (size_t i = 0; i < 4; ++i)
        lane[i] = term(lane[i], row[at + i]);
    ofThreads.push_back((lane[0] + lane[2]) + (lane[1] + lane[3]));
  }
  // The lanes of each warp by halves, then the warps.
  auto byHalves = [](std::vector<float> values) {
    for (size_t half = values.size() / 2; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i)
        values[i] = values[i] + values[i + half];
    return values[0];
  };
  std::vector<float> ofWarps;
  for (int32_t first = 0; first < threads; first += 32)
    ofWarps.push_back(
        byHalves({ofThreads.begin() + first, ofThreads.begin() + first + 32}));
  return byHalves(ofWarps);
}

struct TailCase {
  int32_t features;
  int32_t threads;
  Norm norm;
  bool hasBias;
};

std::vector<float> normalised(const TailCase &how, std::span<const float> row,
                              std::span<const float> weight,
                              std::span<const float> bias, float epsilon) {
  const auto width = float(how.features);
  float mean = 0;
  if (how.norm == Norm::Layer)
    mean = sumInOrder(row, how.threads,
                      [](float sum, float x) { return sum + x; }) /
           width;
  const float squares = sumInOrder(row, how.threads, [&](float sum, float x) {
    const float centred = how.norm == Norm::Layer ? x - mean : x;
    return std::fma(centred, centred, sum);
  });
  const float inverse = 1.0f / std::sqrt(squares / width + epsilon);
  std::vector<float> result;
  for (size_t i = 0; i < row.size(); ++i) {
    const float centred = how.norm == Norm::Layer ? row[i] - mean : row[i];
    const float scaled = centred * inverse;
    result.push_back(how.hasBias ? std::fma(scaled, weight[i], bias[i])
                                 : scaled * weight[i]);
  }
  return result;
}

/// The memory of operand rows.
struct Operands {
  DeviceArray<uint8_t> rows;
  DeviceArray<float> scales, sums;

  explicit Operands(int32_t features)
      : rows(size_t(operandFeatures(features)) * 4), scales(1),
        sums(size_t(operandBlocks(features))) {}
};

/// Makes the operand of a row by sluice_operand_rows.
void makeOperand(const std::vector<float> &row, OperandKind kind,
                 Operands &operands) {
  DeviceArray<float> x(row);
  DeviceArray<int32_t> count(std::vector<int32_t>{1});
  OperandArguments arguments = {};
  arguments.x = x.data();
  arguments.operand = operands.rows.data();
  arguments.scales = operands.scales.data();
  arguments.sums = operands.sums.data();
  arguments.rowCount = count.data();
  arguments.features = int32_t(row.size());
  arguments.kind = kind;
  emulator::LaunchOptions options;
  options.threads = uint32_t(operandThreads(arguments.features));
  options.sharedBytes = operandSharedBytes;
  LateInputs().expectLaunch(options, "sluice_operand_rows", arguments);
}

class RowTailTest : public testing::TestWithParam<OperandKind> {
protected:
  std::mt19937 random{11};
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, RowTailTest,
                         testing::Values(OperandKind::F32, OperandKind::BF16,
                                         OperandKind::F16));

/// A product whose columns are the row, its norm, and the norm's operand, all
/// in one launch. A product of f32 has the same bits everywhere.
TEST_P(RowTailTest, NormsHaveTheBitsOfGeneratedKernels) {
  const TailCase cases[] = {
      {64, 32, Norm::Rms, false},      {256, 32, Norm::Layer, true},
      {512, 64, Norm::Layer, false},   {516, 128, Norm::Rms, false},
      {1024, 128, Norm::Layer, false}, {2048, 256, Norm::Rms, false},
      {2304, 512, Norm::Layer, true},  {9000, 1024, Norm::Rms, false}};
  constexpr int64_t in = 700;
  for (const TailCase &how : cases) {
    const int32_t features = how.features;
    // Blocks that are not the last part of their columns take no ticket.
    ASSERT_GT(linearSplits(WeightKind::F32, features, in), 1);
    DeviceWeight weight =
        deviceWeight(randomWeight(random, WeightKind::F32, features, in));
    LinearRun run(weight, 1);
    run.capacity = 1;
    run.order = Order::Shuffled;
    auto x = randomFloats(random, size_t(in));
    const std::vector<float> row = run.run(x);

    auto scale = randomFloats(random, size_t(features));
    auto shift = randomFloats(random, size_t(features));
    constexpr float epsilon = 1e-5f;
    DeviceArray<float> weights(scale), biases(shift);
    DeviceArray<float> y{size_t(features)};
    Operands made(features);
    run.tail.count = 1;
    NormArguments &norm = run.tail.norms[0];
    norm.norm = how.norm;
    norm.weight = weights.data();
    norm.bias = how.hasBias ? biases.data() : nullptr;
    norm.y = y.data();
    norm.operand = made.rows.data();
    norm.scales = made.scales.data();
    norm.sums = made.sums.data();
    norm.epsilon = epsilon;
    norm.features = features;
    norm.threads = how.threads;
    norm.kind = GetParam();
    EXPECT_TRUE(sameBits<float>(run.run(x), row));

    const std::vector<float> want = normalised(how, row, scale, shift, epsilon);
    EXPECT_TRUE(sameBits<float>(y.values(), want)) << features;
    Operands alone(features);
    makeOperand(want, GetParam(), alone);
    EXPECT_EQ(made.rows.values(), alone.rows.values()) << features;
    if (GetParam() == OperandKind::F16) {
      EXPECT_EQ(made.scales[0], alone.scales[0]);
      EXPECT_TRUE(sameBits<float>(made.sums.values(), alone.sums.values()));
    }
    if (features > in)
      continue;
    std::vector<uint8_t> over;
    run.overOperand = &over;
    (void)run.run(x);
    const size_t used = size_t(operandFeatures(features)) *
                        (GetParam() == OperandKind::F32 ? 4 : 2);
    over.resize(used);
    std::vector<uint8_t> expected = alone.rows.values();
    expected.resize(used);
    EXPECT_EQ(over, expected)
        << features << ", in the place of the product's operand";
  }
}

/// The second takes what the first has stored. The launch computes two weights,
/// whose features are split into three parts and into one.
TEST_P(RowTailTest, OneAfterTheOther) {
  constexpr int32_t features = 196;
  constexpr int64_t in = 700;
  std::vector<DeviceWeight> weights;
  for (int64_t out : {int64_t{features}, int64_t{80}})
    weights.push_back(
        deviceWeight(randomWeight(random, WeightKind::F32, out, in)));
  std::vector<LinearRun> runs;
  for (const DeviceWeight &weight : weights) {
    LinearRun &run = runs.emplace_back(weight, 1);
    run.capacity = 8;
    run.splits = runs.size() == 1 ? 3 : 1;
    run.order = Order::Shuffled;
  }
  auto x = randomFloats(random, size_t(in));
  const std::vector<std::vector<float>> rows = runJoined(runs, x);
  const TailCase how = {features, 32, Norm::Rms, false};
  auto scale = randomFloats(random, features);
  DeviceArray<float> scales(scale), y{size_t(features)};
  Operands made(features);
  runs[0].tail.count = 2;
  NormArguments &norm = runs[0].tail.norms[0];
  norm.norm = how.norm;
  norm.weight = scales.data();
  norm.y = y.data();
  norm.features = features;
  norm.threads = how.threads;
  NormArguments &operand = runs[0].tail.norms[1];
  operand.x = y.data();
  operand.operand = made.rows.data();
  operand.scales = made.scales.data();
  operand.sums = made.sums.data();
  operand.features = features;
  operand.kind = GetParam();
  const std::vector<std::vector<float>> again = runJoined(runs, x);
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_TRUE(sameBits<float>(again[i], rows[i])) << i;
  const std::vector<float> want = normalised(how, rows[0], scale, {}, 0);
  EXPECT_TRUE(sameBits<float>(y.values(), want));
  Operands alone(features);
  makeOperand(want, GetParam(), alone);
  EXPECT_EQ(made.rows.values(), alone.rows.values());
}
