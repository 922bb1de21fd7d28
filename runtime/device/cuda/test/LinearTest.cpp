//===- LinearTest.cpp - linear layers of few rows, in the emulator --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares every kind of weight with sums in double precision of the values of
// runtime/formats, and bit for bit with itself with other batch mates.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/linear/Linear.h"
#include "runtime/device/cuda/kernels/GateMath.cuh"
#include "runtime/device/cuda/test/LinearRun.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using emulator::Order;

namespace {

class LinearKernelTest : public testing::TestWithParam<int> {
protected:
  WeightKind kind() const { return WeightKind(GetParam()); }

  std::vector<int64_t> inputSizes() const {
    switch (kind()) {
    case WeightKind::E4M3:
      return {128, 384, 1152};
    case WeightKind::Q8_0:
    case WeightKind::Q4_0:
      return {32, 352, 1152};
    case WeightKind::Q4_K:
    case WeightKind::Q6_K:
      return {256, 1280};
    default:
      return {1, 131, 1100};
    }
  }

  /// Returns how far a sum may be off, relative to the sum of its terms'
  /// magnitudes: half a last place of the row's numbers in 16 bits, and the
  /// rounding of some hundred sums in f32.
  double tolerance() const {
    switch (operandKind(kind())) {
    case OperandKind::F32:
      return 1e-5;
    case OperandKind::BF16:
      return 0x1p-8 + 1e-5;
    case OperandKind::F16:
      break;
    }
    return 0x1p-11 + 1e-5;
  }

  void expectRight(const LinearRun &run, const StoredWeight &weight,
                   const std::vector<float> &x,
                   const std::vector<float> &y) const {
    int64_t out = weight.outFeatures, in = weight.inFeatures;
    for (int64_t row = 0; row < run.rows; ++row)
      for (int64_t c = 0; c < out; ++c) {
        double sum = 0, size = 1e-30;
        for (int64_t k = 0; k < in; ++k) {
          double term = double(x[size_t(row * in + k)]) *
                        weight.values[size_t(c * in + k)];
          sum += term;
          size += std::fabs(term);
        }
        if (!run.bias.empty())
          sum += run.bias[size_t(c)];
        double value = y[size_t(row * out + c)];
        // The terms of Q4_K cancel: quants times a scale, minus a minimum.
        double room = kind() == WeightKind::Q4_K ? 4 : 1;
        ASSERT_LE(std::fabs(value - sum),
                  room * tolerance() * (size + std::fabs(sum)))
            << "row " << row << " column " << c << " of " << out << "x" << in;
      }
  }

  std::mt19937 random{unsigned(GetParam()) + 1};
};

/// With other weights the CPU rounds rows to 8 bits.
class FloatLinearKernelTest : public LinearKernelTest {};

/// Prompts with f32 weights use the kernels of few rows.
class LinearTileKernelTest : public LinearKernelTest {};

std::string nameOf(const testing::TestParamInfo<int> &info) {
  return kindName(WeightKind(info.param));
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, LinearKernelTest,
                         testing::Range(0, weightKindCount), nameOf);
INSTANTIATE_TEST_SUITE_P(Kinds, FloatLinearKernelTest, testing::Range(0, 3),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Kinds, LinearTileKernelTest,
                         testing::Range(1, weightKindCount), nameOf);

TEST_P(LinearKernelTest, SumsAreRightInEveryShape) {
  for (int64_t in : inputSizes())
    for (int64_t out : {5, 80}) {
      StoredWeight weight = randomWeight(random, kind(), out, in);
      DeviceWeight device = deviceWeight(weight);
      for (int32_t rows : {1, 7, 20}) {
        LinearRun run(device, rows);
        if (rows == 7) {
          run.order = Order::Shuffled;
          run.bias = randomFloats(random, size_t(out));
        }
        auto x = randomFloats(random, size_t(rows * in));
        expectRight(run, weight, x, run.run(x));
      }
    }
}

TEST_P(FloatLinearKernelTest, AgreesWithTheProcessor) {
  constexpr int64_t out = 80, in = 512;
  constexpr int32_t rows = 6;
  constexpr Format formats[] = {Format::F32, Format::F16, Format::BF16};
  StoredWeight weight = randomWeight(random, kind(), out, in);
  cpu::LinearSpec spec = {out, in, formats[GetParam()], formats[GetParam()],
                          false};
  DeviceArray<uint8_t> packed(cpu::packedBytes(spec).value());
  cpu::packPanels(spec, weight.bytes.data(), packed.data(), 0,
                  cpu::panelCount(out));
  auto x = randomFloats(random, size_t(rows * in));
  std::vector<float> want(size_t(rows * out));
  cpu::Tickets tickets;
  cpu::linear(*cpu::linearKernels("avx2"),
              cpu::packedWeight(spec, packed.data()), x.data(), nullptr,
              want.data(), rows, {0, 1, /*scratch=*/nullptr, tickets, 0});
  DeviceWeight device = deviceWeight(weight);
  std::vector<float> y = LinearRun(device, rows).run(x);
  for (size_t i = 0; i < y.size(); ++i)
    // The sums have 512 terms of about 1.
    ASSERT_NEAR(y[i], want[i], 512 * tolerance() * 0.1) << i;
}

TEST_P(LinearKernelTest, ARowIsTheSameInAnyBatch) {
  constexpr int64_t out = 70;
  int64_t in = inputSizes().back();
  DeviceWeight device = deviceWeight(randomWeight(random, kind(), out, in));
  auto x = randomFloats(random, size_t(64 * in));
  LinearRun all(device, 64);
  all.kernelRows = 64;
  std::vector<float> together = all.run(x);
  struct {
    int32_t rows, kernelRows, capacity;
    Order order;
  } ways[] = {{1, 8, 8, Order::Ascending},     {3, 8, 16, Order::Descending},
              {9, 8, 24, Order::Shuffled},     {16, 16, 16, Order::Shuffled},
              {31, 32, 64, Order::Descending}, {33, 64, 64, Order::Shuffled},
              {64, 32, 64, Order::Shuffled}};
  for (auto &way : ways) {
    LinearRun run(device, way.rows);
    run.kernelRows = way.kernelRows;
    run.capacity = way.capacity;
    run.order = way.order;
    std::vector<float> own =
        run.run(std::vector<float>(x.begin(), x.begin() + way.rows * in));
    ASSERT_TRUE(
        sameBits<float>(own, std::span(together).first(size_t(way.rows * out))))
        << way.rows << " rows, " << way.kernelRows << " in a block";
  }
}

TEST_P(LinearTileKernelTest, ARowIsTheSameInAPrompt) {
  // Two blocks of columns, the second with little more than one warp's tiles,
  // and two blocks of rows.
  constexpr int64_t out = 210;
  constexpr int32_t rows = 150;
  int64_t in = inputSizes().back();
  DeviceWeight device = deviceWeight(randomWeight(random, kind(), out, in));
  auto x = randomFloats(random, size_t(rows * in));
  LinearRun few(device, rows);
  few.kernelRows = 64;
  few.capacity = 192;
  few.bias = randomFloats(random, out);
  std::vector<float> want = few.run(x);
  for (auto [stages, order] : {std::pair{2, Order::Ascending},
                               {3, Order::Shuffled},
                               {4, Order::Descending}}) {
    LinearRun prompt = few;
    prompt.kernelRows = linearTileRows;
    prompt.stages = stages;
    prompt.order = order;
    ASSERT_TRUE(sameBits<float>(prompt.run(x), want)) << stages << " stages";
  }
}

TEST_P(LinearTileKernelTest, APromptsColumnsAndGatesAreTheSame) {
  int64_t in = inputSizes()[1];
  StoredWeight gate = randomWeight(random, kind(), 75, in);
  StoredWeight up = randomWeight(random, kind(), 75, in);
  DeviceWeight both = deviceWeight(gate, &up);
  LinearRun few(both, 9);
  few.gate = Gate::Silu;
  few.firstTile = 1;
  few.tiles = 6;
  few.residual = randomFloats(random, size_t(9 * 48));
  few.bias = randomFloats(random, 2 * 75);
  auto x = randomFloats(random, size_t(9 * in));
  LinearRun prompt = few;
  prompt.kernelRows = linearTileRows;
  EXPECT_TRUE(sameBits<float>(prompt.run(x), few.run(x)));
  LinearRun none(both, 0);
  none.kernelRows = linearTileRows;
  EXPECT_TRUE(none.run({}).empty());
}

TEST_P(LinearKernelTest, PartsOfASumMayEndInAnyOrder) {
  int64_t in = inputSizes().back();
  DeviceWeight device = deviceWeight(randomWeight(random, kind(), 64, in));
  ASSERT_GT(linearSplits(kind(), 64, int32_t(in)), 1);
  auto x = randomFloats(random, size_t(in));
  std::vector<float> want = LinearRun(device, 1).run(x);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    LinearRun run(device, 1);
    run.capacity = 8; // All blocks compute, and all are resident together.
    run.order = Order::Shuffled;
    run.seed = seed;
    ASSERT_TRUE(sameBits<float>(run.run(x), want)) << "seed " << seed;
  }
}

TEST_P(LinearKernelTest, ColumnRangesHaveTheBitsOfTheWhole) {
  constexpr int64_t out = 150;
  int64_t in = inputSizes().back();
  DeviceWeight device = deviceWeight(randomWeight(random, kind(), out, in));
  auto x = randomFloats(random, size_t(4 * in));
  LinearRun whole(device, 4);
  whole.bias = randomFloats(random, out);
  std::vector<float> want = whole.run(x);
  for (auto [first, tiles] : {std::pair{0, 1}, {2, 5}, {3, 7}}) {
    LinearRun range = whole;
    range.firstTile = first;
    range.tiles = tiles;
    std::vector<float> y = range.run(x);
    int64_t columns = std::min<int64_t>(16 * tiles, out - 16 * first);
    for (int64_t row = 0; row < 4; ++row)
      ASSERT_TRUE(sameBits<float>(
          std::span(y).subspan(size_t(row * columns), size_t(columns)),
          std::span(want).subspan(size_t(row * out + 16 * first),
                                  size_t(columns))));
  }
}

TEST_P(LinearKernelTest, GatesAndResidualsAreThoseOfTheParts) {
  constexpr int64_t out = 21;
  constexpr int32_t rows = 5;
  int64_t in = inputSizes()[1];
  StoredWeight gate = randomWeight(random, kind(), out, in);
  StoredWeight up = randomWeight(random, kind(), out, in);
  DeviceWeight both = deviceWeight(gate, &up);
  DeviceWeight gateAlone = deviceWeight(gate), upAlone = deviceWeight(up);
  auto x = randomFloats(random, size_t(rows * in), 0.1f);
  std::vector<float> gates = LinearRun(gateAlone, rows).run(x);
  std::vector<float> ups = LinearRun(upAlone, rows).run(x);
  for (auto [function, kernelRows] : {std::pair{Gate::Silu, 8},
                                      {Gate::GeluTanh, 16},
                                      {Gate::Silu, 32},
                                      {Gate::GeluTanh, 64}}) {
    LinearRun run(both, rows);
    run.kernelRows = kernelRows;
    run.gate = function;
    run.bias = randomFloats(random, 2 * out);
    run.residual = randomFloats(random, size_t(rows * out));
    std::vector<float> y = run.run(x);
    for (size_t i = 0; i < y.size(); ++i) {
      float g = gates[i] + run.bias[i % out];
      float partner = ups[i] + run.bias[out + i % out];
      ASSERT_EQ(y[i], run.residual[i] + gated(function, g) * partner) << i;
    }
  }
}

/// Widths differ, and so do the parts into which features are split.
TEST_P(LinearKernelTest, JoinedWeightsHaveTheBitsOfEach) {
  constexpr int32_t rows = 5;
  constexpr int64_t widths[] = {70, 150, 5, 16};
  constexpr int32_t splits[] = {2, 4, 1, 3};
  const int64_t in = unitFeatures(kind()) * 18;
  auto x = randomFloats(random, size_t(rows * in));
  std::vector<DeviceWeight> weights;
  for (int64_t out : widths)
    weights.push_back(deviceWeight(randomWeight(random, kind(), out, in)));
  std::vector<LinearRun> runs;
  std::vector<std::vector<float>> want;
  for (size_t i = 0; i < weights.size(); ++i) {
    LinearRun &run = runs.emplace_back(weights[i], rows);
    run.splits = splits[i];
    run.capacity = 8;
    if (i % 2 == 1)
      run.bias = randomFloats(random, size_t(widths[i]));
    want.push_back(run.run(x));
  }
  for (auto [order, count] : {std::pair{Order::Ascending, 2},
                              {Order::Shuffled, 4},
                              {Order::Descending, 3}}) {
    runs.front().order = order;
    auto together = runJoined(std::span(runs).first(size_t(count)), x);
    for (size_t i = 0; i < together.size(); ++i)
      ASSERT_TRUE(sameBits<float>(together[i], want[i]))
          << "weight " << i << " of " << count;
  }
}

TEST_P(LinearKernelTest, WithoutRowsNothingIsReadOrWritten) {
  int64_t in = inputSizes().back();
  DeviceWeight device = deviceWeight(randomWeight(random, kind(), 80, in));
  LinearRun run(device, 0);
  EXPECT_TRUE(run.run({}).empty());
}

TEST_P(LinearKernelTest, AWeightIsReadOnceWhateverTheCapacity) {
  constexpr int64_t out = 80;
  int64_t in = inputSizes().back();
  DeviceWeight device = deviceWeight(randomWeight(random, kind(), out, in));
  auto x = randomFloats(random, size_t(in));
  auto rowBytes = uint64_t(operandFeatures(int32_t(in))) *
                  (kind() == WeightKind::F32 ? 4 : 2);
  uint64_t copied = 0;
  LinearRun run(device, 1);
  run.copiedBytes = &copied;
  (void)run.run(x);
  // Two blocks of four tiles, and sums of the row's blocks of 32 features.
  uint64_t sums = kind() == WeightKind::Q4_K ? uint64_t(in / 32 * 4) : 0;
  EXPECT_EQ(copied, device.tiles.bytes() + 2 * (rowBytes + sums));
  if (kind() == WeightKind::F32)
    return;
  copied = 0;
  run.kernelRows = linearTileRows;
  run.capacity = 512;
  (void)run.run(x);
  EXPECT_EQ(copied, device.tiles.bytes() + rowBytes + sums);
}

TEST_P(LinearKernelTest, RowsOfAnySizeAreScaled) {
  // f16 has numbers up to 65504 and few bits below 2^-14; the rows are far
  // beyond both.
  int64_t in = inputSizes()[1];
  StoredWeight weight = randomWeight(random, kind(), 16, in);
  DeviceWeight device = deviceWeight(weight);
  std::vector<float> x;
  for (float size : {1e-30f, 1e-8f, 0.0f, 3e6f, 1e25f})
    for (float value : randomFloats(random, size_t(in), size))
      x.push_back(value);
  LinearRun run(device, 5);
  expectRight(run, weight, x, run.run(x));
}

TEST_P(LinearKernelTest, RowsThatAreTooWideForRegistersAreReadTwice) {
  int64_t in = int64_t{maxOperandThreads} * 32 + 512;
  StoredWeight weight = randomWeight(random, kind(), 5, in);
  DeviceWeight device = deviceWeight(weight);
  auto x = randomFloats(random, size_t(2 * in), 1e6f);
  LinearRun run(device, 2);
  run.capacity = 8;
  expectRight(run, weight, x, run.run(x));
}

TEST_P(LinearKernelTest, ABrokenRowBreaksNoOther) {
  int64_t in = inputSizes()[1];
  DeviceWeight device = deviceWeight(randomWeight(random, kind(), 16, in));
  auto x = randomFloats(random, size_t(3 * in));
  std::vector<float> want = LinearRun(device, 3).run(x);
  x[size_t(in)] = NAN;
  std::vector<float> y = LinearRun(device, 3).run(x);
  for (size_t i = 0; i < y.size(); ++i) {
    bool broken = i / 16 == 1;
    EXPECT_EQ(std::isnan(y[i]), broken);
    if (!broken)
      EXPECT_EQ(y[i], want[i]);
  }
}

TEST(LinearSplitsTest, PartsCoverTheFeaturesAndNoneIsEmpty) {
  for (int kind = 0; kind < weightKindCount; ++kind)
    for (int32_t out : {16, 1024, 4096, 14336, 128256})
      for (int32_t in : {1, 64, 512, 2048, 4096, 5120, 14336, 28672}) {
        int32_t splits = linearSplits(WeightKind(kind), out, in);
        int32_t units = unitsOf(WeightKind(kind), in);
        int32_t each = divideUp(units, splits);
        EXPECT_GE(splits, 1);
        EXPECT_LT(int64_t{splits - 1} * each, units) << out << "x" << in;
        EXPECT_GE(int64_t{splits} * each, units);
      }
  // A weight that is wide enough is not split.
  EXPECT_EQ(linearSplits(WeightKind::BF16, 128256, 4096), 1);
  EXPECT_EQ(linearSplits(WeightKind::BF16, 4096, 4096), 8);
}

TEST(LinearSharedTest, EveryKernelFitsIntoTheSmallestChip) {
  for (int kind = 0; kind < weightKindCount; ++kind)
    for (int32_t rows : {8, 16, 32, 64})
      EXPECT_LE(linearSharedBytes(WeightKind(kind), rows), 99 << 10);
  // On sm_80 (163 KiB) and sm_90 (227 KiB) prompts have a kernel of their own.
  for (int kind = 1; kind < weightKindCount; ++kind) {
    EXPECT_GE(linearTileStages(WeightKind(kind), 163 << 10), 2);
    EXPECT_GE(linearTileStages(WeightKind(kind), 227 << 10), 3);
  }
}
