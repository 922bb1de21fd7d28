//===- RealShapesTest.cpp - the widths of known models --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests products and attention of the shapes of known models. Rows are few, and
// only the first tiles of a weight's columns exist, as a window of tiles; the
// split of sums follows from the whole weight.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/test/AttentionReference.h"
#include "runtime/device/cuda/test/CacheModel.h"
#include "runtime/device/cuda/test/LinearRun.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using emulator::Order;

namespace {

struct LinearCase {
  const char *name;
  WeightKind kind;
  int64_t in, out;
  bool isGated = false;
};

void PrintTo(const LinearCase &shape, std::ostream *out) { *out << shape.name; }

constexpr LinearCase linears[] = {
    {"Llama1BGateF32", WeightKind::F32, 2048, 8192, true},
    {"Llama1BGateBF16", WeightKind::BF16, 2048, 8192, true},
    {"Llama1BDownBF16", WeightKind::BF16, 8192, 2048},
    {"Llama1BVocabularyF16", WeightKind::F16, 2048, 128256},
    {"Llama8BKeysE4M3", WeightKind::E4M3, 4096, 1024},
    {"Llama8BDownF32", WeightKind::F32, 14336, 4096},
    {"Llama8BDownF16", WeightKind::F16, 14336, 4096},
    {"Llama8BDownBF16", WeightKind::BF16, 14336, 4096},
    {"Llama8BDownE4M3", WeightKind::E4M3, 14336, 4096},
    {"Llama8BDownQ8_0", WeightKind::Q8_0, 14336, 4096},
    {"Llama8BDownQ4_0", WeightKind::Q4_0, 14336, 4096},
    {"Llama8BDownQ4_K", WeightKind::Q4_K, 14336, 4096},
    {"Llama8BDownQ6_K", WeightKind::Q6_K, 14336, 4096},
    {"Llama8BVocabularyQ4_0", WeightKind::Q4_0, 4096, 128256},
    {"Llama8BVocabularyQ6_K", WeightKind::Q6_K, 4096, 128256},
    {"GPTJInF16", WeightKind::F16, 4096, 16384},
    {"GPTJOutQ8_0", WeightKind::Q8_0, 16384, 4096},
    // These are not multiples of units of 128 features, and a row of four times
    // the width does not fit into the registers of one block.
    {"FalconQueriesBF16", WeightKind::BF16, 4544, 4672},
    {"FalconDownBF16", WeightKind::BF16, 18176, 4544},
};

class RealLinearTest : public testing::TestWithParam<LinearCase> {
protected:
  /// Columns of the window, which are those of a block.
  static constexpr int64_t columns = 64;
  static constexpr int32_t rows = 3;

  /// Returns the first columns of a weight that has more.
  DeviceWeight window(const StoredWeight &first,
                      const StoredWeight *partner = nullptr) {
    DeviceWeight weight = deviceWeight(first, partner);
    weight.spec.outFeatures = GetParam().out;
    return weight;
  }

  /// Results in double precision, [row][out].
  struct Sums {
    std::vector<double> values, sizes; ///< sizes: sums of the terms' magnitudes
  };
  static Sums define(const StoredWeight &weight, const std::vector<float> &x) {
    const int64_t in = weight.inFeatures;
    Sums sums;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = 0; c < weight.outFeatures; ++c) {
        const float *each = &x[size_t(row * in)];
        const float *value = &weight.values[size_t(c * in)];
        double sum = 0, size = 0;
        for (int64_t k = 0; k < in; ++k) {
          const double term = double(each[k]) * value[k];
          sum += term;
          size += std::fabs(term);
        }
        sums.values.push_back(sum);
        sums.sizes.push_back(size);
      }
    return sums;
  }

  /// `up` is the partner if the weight is gated.
  void expectRight(const StoredWeight &gate, const StoredWeight &up,
                   const std::vector<float> &x,
                   const std::vector<float> &residual,
                   const std::vector<float> &y) const {
    const LinearCase &shape = GetParam();
    Sums sums = define(gate, x), partner;
    if (shape.isGated)
      partner = define(up, x);
    // The rows' numbers are off by at most half a last place, and in such long
    // sums these errors cancel like random ones; sums are in f32.
    const double place = shape.kind == WeightKind::F32    ? 0
                         : shape.kind == WeightKind::BF16 ? 0x1p-8
                                                          : 0x1p-11;
    const double room = 4 * place / std::sqrt(double(shape.in)) + 1e-6;
    for (size_t i = 0; i < y.size(); ++i) {
      double want = sums.values[i], size = sums.sizes[i];
      if (shape.isGated) {
        const double silu = want / (1 + std::exp(-want));
        want = silu * partner.values[i];
        // The slope of silu is at most 1.1.
        size = 1.1 * size * std::fabs(partner.values[i]) +
               partner.sizes[i] * std::fabs(silu);
      }
      ASSERT_NEAR(y[i], want + residual[i], room * (size + std::fabs(want)))
          << i;
    }
  }

  /// Computes the last two of the four tiles separately.
  void expectLastTiles(const LinearRun &run, const std::vector<float> &x,
                       const std::vector<float> &y) const {
    const size_t out = y.size() / rows;
    LinearRun last = run;
    last.firstTile = 2;
    last.tiles = 2;
    last.residual.clear();
    std::vector<float> want;
    for (size_t i = 0; i < y.size(); ++i)
      if (i % out >= out / 2) {
        last.residual.push_back(run.residual[i]);
        want.push_back(y[i]);
      }
    EXPECT_TRUE(sameBits<float>(last.run(x), want));
  }

  std::mt19937 random{3};
};

} // namespace

INSTANTIATE_TEST_SUITE_P(, RealLinearTest, testing::ValuesIn(linears),
                         [](const testing::TestParamInfo<LinearCase> &info) {
                           return info.param.name;
                         });

TEST_P(RealLinearTest, SumsAreRightByEveryKernel) {
  const LinearCase &shape = GetParam();
  const int64_t out = shape.isGated ? columns / 2 : columns;
  StoredWeight gate = randomWeight(random, shape.kind, out, shape.in);
  StoredWeight up = randomWeight(random, shape.kind, out, shape.in);
  DeviceWeight weight = window(gate, shape.isGated ? &up : nullptr);
  auto x = randomFloats(random, size_t(rows * shape.in), 0.1f);
  LinearRun run(weight, rows);
  run.tiles = int32_t(columns / tileColumns);
  run.capacity = 8;
  run.gate = shape.isGated ? Gate::Silu : Gate::None;
  run.residual = randomFloats(random, size_t(rows * out));
  std::vector<float> y = run.run(x);
  expectRight(gate, up, x, run.residual, y);
  expectLastTiles(run, x, y);

  // Computes the same with more rows in a block, and as a prompt.
  for (int32_t kernelRows : {64, linearTileRows}) {
    if (kernelRows == linearTileRows && shape.kind == WeightKind::F32)
      continue;
    LinearRun other = run;
    other.kernelRows = kernelRows;
    other.capacity = kernelRows;
    other.order = Order::Descending;
    ASSERT_TRUE(sameBits<float>(other.run(x), y)) << kernelRows << " rows";
  }
}

namespace {

struct AttendCase {
  const char *name;
  CacheKind kind;
  SluiceAttention params;
  int32_t context;
};

void PrintTo(const AttendCase &shape, std::ostream *out) { *out << shape.name; }

/// The scores are spread as in a model by a scale of 6 / sqrt(headDim), so that
/// some of thousands of positions matter.
constexpr AttendCase attends[] = {
    {"Llama1BF16", CacheKind::F16, {32, 8, 64, 0, 0.75f, 0, nullptr}, 2300},
    {"Llama8BBF16", CacheKind::BF16, {32, 8, 128, 0, 0.53f, 0, nullptr}, 2049},
    {"Llama8BE4M3", CacheKind::E4M3, {32, 8, 128, 0, 0.53f, 0, nullptr}, 1500},
    {"Mistral7BF16Window",
     CacheKind::F16,
     {32, 8, 128, 1000, 0.53f, 0, nullptr},
     3000},
    {"GPTJF16", CacheKind::F16, {16, 16, 256, 0, 0.375f, 0, nullptr}, 600},
    {"Falcon7BBF16", CacheKind::BF16, {71, 1, 64, 0, 0.75f, 0, nullptr}, 4100},
};

class RealAttendTest : public testing::TestWithParam<AttendCase> {
protected:
  std::mt19937 random{5};
};

} // namespace

INSTANTIATE_TEST_SUITE_P(, RealAttendTest, testing::ValuesIn(attends),
                         [](const testing::TestParamInfo<AttendCase> &info) {
                           return info.param.name;
                         });

TEST_P(RealAttendTest, ARowAtTheEndOfALongContext) {
  const AttendCase &shape = GetParam();
  CacheModel cache(shape.kind, int32_t(shape.params.kvHeads),
                   int32_t(shape.params.headDim), 1, shape.context);
  cache.fill(random);
  const int32_t last = shape.context - 1;
  const auto floats = size_t(shape.params.heads * shape.params.headDim);
  auto q = randomFloats(random, floats);
  std::vector<float> out = cache.attend(shape.params, {{0, last}}, q,
                                        {false, 8, 0, Order::Descending});
  std::vector<double> want = cpu::referenceAttention(
      shape.params, q.data(), cache.stored(false, 0, shape.context),
      cache.stored(true, 0, shape.context), last);
  const double room = shape.kind == CacheKind::F16 ? 0x1p-10 : 0x1p-7;
  double largest = 0;
  for (size_t i = 0; i < floats; ++i) {
    ASSERT_NEAR(out[i], want[i], room) << i;
    largest = std::max(largest, std::fabs(want[i]));
  }
  // The results are not means of so many numbers that all would be near 0.
  EXPECT_GT(largest, 0.1);
}
