//===- DenseLinearTest.cpp - products by cuBLASLt, in the emulator --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares unpacked weights with the values of runtime/formats, and results
// with those of the kernels of LinearTest.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/DenseABI.h"
#include "runtime/device/cuda/kernels/GateMath.cuh"
#include "runtime/device/cuda/test/LateInputs.h"
#include "runtime/device/cuda/test/LinearRun.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

class DenseLinearTest : public testing::TestWithParam<int> {
protected:
  WeightKind kind() const { return WeightKind(GetParam()); }
  int64_t inFeatures() const {
    switch (kind()) {
    case WeightKind::Q8_0:
    case WeightKind::Q4_0:
      return 672;
    case WeightKind::E4M3:
    case WeightKind::Q4_K:
    case WeightKind::Q6_K:
      return 768;
    default:
      return 651;
    }
  }

  /// Returns the unpacked columns of the tiles. `rows` is a row count of 0 or
  /// 1.
  DeviceArray<uint16_t> unpack(const DeviceWeight &weight, int32_t firstTile,
                               int32_t tiles, int32_t rows = 1) {
    auto in = static_cast<int32_t>(weight.spec.inFeatures);
    DeviceArray<uint16_t> dense(
        size_t(tiles * tileColumns * operandFeatures(in)));
    DeviceArray<int32_t> count(std::vector<int32_t>{rows});
    DenseWeightArguments arguments = {};
    arguments.weight = weight.tiles.data();
    arguments.dense = dense.data();
    arguments.rowCount = count.data();
    arguments.inFeatures = in;
    arguments.firstTile = firstTile;
    emulator::LaunchOptions options;
    options.grid = {uint32_t(divideUp(unitsOf(kind(), in), denseWarps)),
                    uint32_t(tiles), 1};
    options.threads = denseThreads;
    options.sharedBytes = denseSharedBytes;
    options.order = emulator::Order::Shuffled;
    LateInputs late;
    late.hide(dense);
    late.hide(count);
    late.expectLaunch(options,
                      std::string("sluice_dense_weight_") + kindName(kind()),
                      arguments);
    return dense;
  }

  uint16_t rounded(float value) const {
    return kind() == WeightKind::BF16
               ? static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16)
               : floatToHalf(value);
  }

  /// Returns how far two ways to compute such a product may differ, relative to
  /// the size of the terms: weights are rounded to 11 bits, unless they have
  /// fewer.
  float tolerance() const {
    return kind() == WeightKind::BF16 || kind() == WeightKind::F16 ? 1e-5f
                                                                   : 6e-4f;
  }
  void expectNear(const std::vector<float> &got, const std::vector<float> &want,
                  float size) const {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], size * tolerance()) << i;
  }

  std::mt19937 random{unsigned(GetParam()) + 1};
};

float largest(const std::vector<float> &values) {
  float max = 0;
  for (float value : values)
    max = std::max(max, std::fabs(value));
  return max;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, DenseLinearTest,
                         testing::Range(1, weightKindCount),
                         [](const testing::TestParamInfo<int> &info) {
                           return kindName(WeightKind(info.param));
                         });

TEST_P(DenseLinearTest, UnpackedColumnsAreTheWeights) {
  constexpr int64_t out = 75;
  const int64_t in = inFeatures(), padded = operandFeatures(int32_t(in));
  StoredWeight weight = randomWeight(random, kind(), out, in);
  DeviceWeight device = deviceWeight(weight);
  for (auto [first, tiles] : {std::pair{0, 5}, {2, 1}}) {
    DeviceArray<uint16_t> dense = unpack(device, first, tiles);
    for (int64_t column = 0; column < tiles * tileColumns; ++column)
      for (int64_t k = 0; k < padded; ++k) {
        int64_t c = first * tileColumns + column;
        float value = c < out && k < in ? weight.values[size_t(c * in + k)] : 0;
        // A zero may have either sign.
        uint16_t got = dense.data()[column * padded + k];
        ASSERT_TRUE(got == rounded(value) || (value == 0 && got == 0x8000))
            << "column " << c << " feature " << k << ": " << value;
      }
  }
}

TEST_P(DenseLinearTest, WithoutRowsNothingIsWritten) {
  DeviceWeight device =
      deviceWeight(randomWeight(random, kind(), 16, inFeatures()));
  DeviceArray<uint16_t> dense = unpack(device, 0, 1, 0);
  DeviceArray<uint16_t> untouched(dense.size());
  EXPECT_EQ(dense.values(), untouched.values());
}

/// Computes in pieces of one tile, in larger pieces, and at once, and with all
/// that a kernel does with sums.
TEST_P(DenseLinearTest, GivesWhatTheKernelsDo) {
  constexpr int64_t out = 150;
  constexpr int32_t rows = 21;
  const int64_t in = inFeatures();
  DeviceWeight device = deviceWeight(randomWeight(random, kind(), out, in));
  auto x = randomFloats(random, size_t(rows * in));
  for (bool hasBias : {false, true}) {
    LinearRun few(device, rows);
    if (hasBias)
      few.bias = randomFloats(random, out);
    few.residual = randomFloats(random, size_t(rows * out));
    std::vector<float> want = few.run(x);
    const auto tile = uint64_t(denseTileBytes(int32_t(in)));
    for (uint64_t tiles : {1, 4, 10}) {
      LinearRun dense = few;
      dense.denseBytes = tiles * tile;
      expectNear(dense.run(x), want, largest(want) * 4);
    }
  }
}

TEST_P(DenseLinearTest, GatesAndColumnRangesToo) {
  constexpr int64_t out = 75;
  constexpr int32_t rows = 9;
  const int64_t in = inFeatures();
  StoredWeight gate = randomWeight(random, kind(), out, in);
  StoredWeight up = randomWeight(random, kind(), out, in);
  DeviceWeight both = deviceWeight(gate, &up);
  LinearRun few(both, rows);
  few.gate = Gate::Silu;
  few.bias = randomFloats(random, 2 * out);
  few.residual = randomFloats(random, size_t(rows * out));
  auto x = randomFloats(random, size_t(rows * in), 0.1f);
  LinearRun dense = few;
  dense.denseBytes = 3 * uint64_t(denseTileBytes(int32_t(in)));
  std::vector<float> want = few.run(x);
  expectNear(dense.run(x), want, largest(want) * 8);

  DeviceWeight whole = deviceWeight(gate);
  LinearRun range(whole, rows);
  range.firstTile = 2;
  range.tiles = 2;
  want = range.run(x);
  range.denseBytes = dense.denseBytes;
  expectNear(range.run(x), want, largest(want) * 4);
}

namespace {

/// Tests the results of cuBLASLt's sums of some tiles.
class DenseResultsTest : public testing::TestWithParam<WeightKind> {
protected:
  static constexpr int32_t rows = 11, capacity = 16;

  bool isScaled() const { return GetParam() == WeightKind::F16; }

  /// `arguments` has gate, biases, columns and tiles of the whole weight; the
  /// tiles from firstTile on have sums. Returns y, with the residual added.
  std::vector<float> finish(DenseResultArguments arguments,
                            const std::vector<float> &residual) {
    DeviceArray<float> given(sums), y(residual), rowScales(scales);
    DeviceArray<int32_t> count(std::vector<int32_t>{rows});
    arguments.linear.rows.rowScales = rowScales.data();
    arguments.linear.columns.y = y.data();
    arguments.linear.columns.residual = y.data();
    arguments.linear.rows.rowCount = count.data();
    arguments.sums = given.data();
    emulator::LaunchOptions options;
    options.grid = {uint32_t(divideUp(arguments.tiles, linearWarps)),
                    uint32_t(divideUp(capacity, 8)), 1};
    options.threads = linearThreads;
    options.order = emulator::Order::Shuffled;
    LateInputs late;
    for (DeviceArray<float> *each : {&given, &y, &rowScales})
      late.hide(*each);
    late.hide(count);
    late.expectLaunch(
        options, std::string("sluice_dense_results_") + kindName(GetParam()),
        arguments);
    return y.values();
  }

  void makeSums(int32_t tiles) {
    sums = randomFloats(random, size_t(capacity * 16 * tiles));
    for (int32_t row = 0; row < capacity; ++row)
      scales.push_back(std::ldexp(1.0f, row % 7 - 3));
  }
  /// Returns a sum, multiplied by the row's scale.
  float sum(int32_t row, int32_t tiles, int32_t column) const {
    return sums[size_t(row * 16 * tiles + column)] *
           (isScaled() ? scales[size_t(row)] : 1);
  }

  std::vector<float> sums, scales;
  std::mt19937 random{17};
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, DenseResultsTest,
                         testing::Values(WeightKind::F16, WeightKind::BF16),
                         [](const testing::TestParamInfo<WeightKind> &info) {
                           return kindName(info.param);
                         });

/// Computes the last two of the three tiles of 43 columns.
TEST_P(DenseResultsTest, SumsGetScaleBiasAndResidual) {
  constexpr int32_t out = 43, tiles = 2;
  makeSums(tiles);
  DeviceArray<float> bias(randomFloats(random, out));
  auto residual = randomFloats(random, size_t(capacity * out));
  DenseResultArguments arguments = {};
  arguments.linear.columns.bias = bias.data();
  arguments.linear.columns.outColumns = out;
  arguments.linear.columns.tiles = 3;
  arguments.firstTile = 1;
  arguments.tiles = tiles;
  std::vector<float> y = finish(arguments, residual);
  for (int32_t row = 0; row < capacity; ++row)
    for (int32_t c = 0; c < out; ++c) {
      const auto place = size_t(row * out + c);
      if (row >= rows || c < 16)
        ASSERT_EQ(y[place], residual[place]) << row << ", " << c;
      else
        ASSERT_EQ(y[place],
                  residual[place] + (sum(row, tiles, c - 16) + bias[size_t(c)]))
            << row << ", " << c;
    }
}

/// A tile is eight columns of the gate and eight of its partner.
TEST_P(DenseResultsTest, GatesAreMultipliedWithTheirPartners) {
  constexpr int32_t out = 21, tiles = 3;
  makeSums(tiles);
  DeviceArray<float> bias(randomFloats(random, 2 * out));
  auto residual = randomFloats(random, size_t(capacity * out));
  for (Gate gate : {Gate::Silu, Gate::GeluTanh}) {
    DenseResultArguments arguments = {};
    arguments.linear.columns.bias = bias.data();
    arguments.linear.columns.partnerBias = bias.data() + out;
    arguments.linear.columns.outColumns = out;
    arguments.linear.columns.tiles = arguments.tiles = tiles;
    arguments.linear.columns.gate = gate;
    std::vector<float> y = finish(arguments, residual);
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t c = 0; c < out; ++c) {
        const int32_t column = c / 8 * 16 + c % 8;
        const float g = sum(row, tiles, column) + bias[size_t(c)];
        const float partner =
            sum(row, tiles, column + 8) + bias[size_t(out + c)];
        const auto place = size_t(row * out + c);
        ASSERT_EQ(y[place], residual[place] + gated(gate, g) * partner)
            << row << ", " << c;
      }
  }
}
