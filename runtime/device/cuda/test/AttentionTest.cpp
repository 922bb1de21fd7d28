//===- AttentionTest.cpp - the cache and attention, in the emulator -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares attention with the definition in double precision that the CPU's
// kernels are tested against, too, and compares it bit for bit with spans, with
// tiles and with any batch mates.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RowMoves.h"
#include "runtime/device/cpu/attention/test/AttentionReference.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/device/cuda/test/CacheModel.h"
#include "runtime/device/cuda/test/LateInputs.h"
#include "runtime/formats/BlockFormat.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace sluice;
using namespace sluice::cuda;
using emulator::Order;

namespace {

/// Slopes for as many heads as the shapes with alibi have here.
constexpr float slopes[20] = {
    0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.01f, 0.4f,  0.2f, 0.1f,   0.05f,
    0.3f, 0.15f, 0.075f, 0.6f,    0.35f,    0.02f, 0.45f, 0.7f, 0.055f, 0.08f};

struct Shape {
  int32_t heads, kvHeads, headDim, window;
  float softcap;
  bool alibi;
};

SluiceAttention paramsOf(const Shape &shape) {
  return {shape.heads,
          shape.kvHeads,
          shape.headDim,
          shape.window,
          1 / std::sqrt(float(shape.headDim)),
          shape.softcap,
          shape.alibi ? slopes : nullptr};
}

class AttentionKernelTest : public testing::TestWithParam<int> {
protected:
  CacheKind kind() const { return CacheKind(GetParam()); }

  /// Returns the cache of sequences of these lengths.
  CacheModel filled(const Shape &shape, const std::vector<int32_t> &lengths) {
    int32_t longest = *std::max_element(lengths.begin(), lengths.end());
    CacheModel cache(kind(), shape.kvHeads, shape.headDim,
                     int32_t(lengths.size()), longest);
    std::vector<StepRow> rows;
    for (size_t i = 0; i < lengths.size(); ++i)
      for (int32_t position = 0; position < lengths[i]; ++position)
        rows.push_back({int32_t(i), position});
    size_t numbers = rows.size() * size_t(shape.kvHeads * shape.headDim);
    cache.append(rows, randomFloats(random, numbers),
                 randomFloats(random, numbers));
    return cache;
  }

  std::vector<float> queries(const Shape &shape, size_t rows) {
    return randomFloats(random, rows * size_t(shape.heads * shape.headDim));
  }

  std::mt19937 random{unsigned(GetParam()) + 1};
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, AttentionKernelTest,
                         testing::Range(0, cacheKindCount),
                         [](const testing::TestParamInfo<int> &info) {
                           return kindName(CacheKind(info.param));
                         });

TEST_P(AttentionKernelTest, StoresEachNumberRounded) {
  for (int32_t headDim : {64, 80, 128, 256}) {
    CacheModel cache(kind(), 2, headDim, 2, 40);
    std::vector<StepRow> rows;
    for (int32_t position = 0; position < 40; ++position)
      rows.push_back({1, position});
    auto k = randomFloats(random, rows.size() * size_t(2 * headDim), 1e-3f);
    auto v = randomFloats(random, k.size(), 300);
    cache.append(rows, k, v);
    // Half a last place of the number; for e4m3, at least of the smallest
    // number beside the token's largest.
    float share = kind() == CacheKind::F16    ? 0x1p-11f
                  : kind() == CacheKind::BF16 ? 0x1p-8f
                                              : 0x1p-4f;
    for (bool values : {false, true}) {
      std::vector<float> stored = cache.stored(values, 1, 40);
      const std::vector<float> &given = values ? v : k;
      ASSERT_EQ(stored.size(), given.size());
      for (size_t i = 0; i < given.size(); ++i)
        ASSERT_NEAR(stored[i], given[i],
                    std::fabs(given[i]) * share + (values ? 1e-2f : 1e-7f));
    }
  }
}

/// One row's results become an operand in the same launch, whichever of the
/// blocks is the last. All positions have the same weight, and values are small
/// whole numbers, so the results have the same bits everywhere.
TEST_P(AttentionKernelTest, MakesTheOperandOfOneRow) {
  constexpr int32_t positions = 400;
  for (const Shape &shape :
       {Shape{40, 2, 64, 0, 0, false}, Shape{6, 3, 128, 0, 0, false},
        Shape{4, 1, 256, 0, 0, false}}) {
    CacheModel cache(kind(), shape.kvHeads, shape.headDim, 1, positions);
    std::vector<StepRow> all;
    for (int32_t position = 0; position < positions; ++position)
      all.push_back({0, position});
    std::vector<float> v(all.size() * size_t(shape.kvHeads * shape.headDim));
    for (float &number : v)
      number = float(random() % 9) - 4;
    cache.append(all, std::vector<float>(v.size()), v);
    const SluiceAttention params = paramsOf(shape);
    const std::vector<StepRow> rows = {{0, positions - 1}};
    const std::vector<float> q(size_t(shape.heads * shape.headDim));
    const std::vector<float> want = cache.attend(params, rows, q);
    const auto features = int32_t(want.size());
    const float largest = std::fabs(*std::ranges::max_element(
        want, {}, [](float number) { return std::fabs(number); }));
    // The largest magnitude becomes a number of [2^14, 2^15).
    const float scale = std::ldexp(1.0f, std::ilogb(largest) - 14);
    for (auto [blocks, operandKind] : {std::pair{1u, OperandKind::BF16},
                                       {3u, OperandKind::BF16},
                                       {3u, OperandKind::F16}}) {
      const bool isHalf = operandKind == OperandKind::F16;
      DeviceArray<uint16_t> operand{size_t(operandFeatures(features))};
      DeviceArray<float> scales(1), sums(size_t(operandBlocks(features)));
      AttendWay way;
      way.spanBlocks = blocks;
      way.order = emulator::Order::Shuffled;
      way.tail.count = 1;
      NormArguments &norm = way.tail.norms[0];
      norm.operand = operand.data();
      norm.scales = scales.data();
      norm.sums = sums.data();
      norm.features = features;
      norm.kind = operandKind;
      EXPECT_TRUE(sameBits<float>(cache.attend(params, rows, q, way), want));
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(operand[i], isHalf ? floatToHalf(want[i] / scale)
                                     : floatToBfloat(want[i]))
            << i;
      if (isHalf)
        EXPECT_EQ(scales[0], scale);
    }
  }
}

TEST_P(AttentionKernelTest, TheLargestNumbersAreStoredAsTheLargest) {
  Shape shape = {2, 1, 64, 0, 0, false};
  CacheModel cache = filled(shape, {32});
  SluiceAttention params = paramsOf(shape);
  const std::vector<StepRow> rows = {{0, 9}};
  auto q = queries(shape, 1);
  std::vector<float> before = cache.attend(params, rows, q);
  std::vector<float> k(64, 1e38f), v(64, -3.4e38f);
  k[5] = 3.4e38f;
  k[6] = 2e38f;
  cache.append({{0, 10}}, k, v);
  float max = kind() == CacheKind::F16    ? 65504
              : kind() == CacheKind::BF16 ? 3.38953139e38f
                                          : 448 * 0x1p119f;
  std::vector<float> keys = cache.stored(false, 0, 32);
  EXPECT_EQ(keys[10 * 64 + 5], max);
  EXPECT_GE(keys[10 * 64 + 6], std::min(max, 1.9e38f));
  EXPECT_EQ(cache.stored(true, 0, 32)[10 * 64 + 63], -max);
  // Rows that do not see the token multiply it by a probability of 0.
  std::vector<float> after = cache.attend(params, rows, q);
  EXPECT_TRUE(sameBits<float>(after, before));
}

TEST_P(AttentionKernelTest, AgreesWithTheDefinition) {
  const Shape shapes[] = {{4, 4, 64, 0, 0, false},    {6, 2, 80, 0, 0, true},
                          {8, 2, 128, 40, 0, false},  {4, 1, 256, 0, 20, false},
                          {20, 1, 64, 130, 5, false}, {6, 3, 96, 33, 3, true}};
  const std::vector<int32_t> lengths = {1, 32, 33, 128, 129, 300};
  for (const Shape &shape : shapes) {
    CacheModel cache = filled(shape, lengths);
    SluiceAttention params = paramsOf(shape);
    std::vector<StepRow> rows;
    for (size_t i = 0; i < lengths.size(); ++i)
      rows.push_back({int32_t(i), lengths[i] - 1});
    auto q = queries(shape, rows.size());
    std::vector<float> out = cache.attend(params, rows, q);
    // Queries and probabilities are rounded to the precision of the format.
    double room = kind() == CacheKind::F16 ? 0x1p-10 : 0x1p-7;
    size_t rowFloats = size_t(shape.heads * shape.headDim);
    for (size_t i = 0; i < rows.size(); ++i) {
      auto sequence = int32_t(i);
      std::vector<double> want = cpu::referenceAttention(
          params, q.data() + i * rowFloats,
          cache.stored(false, sequence, lengths[i]),
          cache.stored(true, sequence, lengths[i]), rows[i].position);
      for (size_t j = 0; j < rowFloats; ++j)
        ASSERT_NEAR(out[i * rowFloats + j], want[j], 3 * room)
            << "sequence " << i << " number " << j << " of head size "
            << shape.headDim;
    }
  }
}

TEST_P(AttentionKernelTest, TilesHaveTheBitsOfSpans) {
  const Shape shapes[] = {{4, 2, 64, 0, 0, false},
                          {3, 1, 80, 40, 0, true},
                          {8, 1, 128, 0, 10, false},
                          {4, 2, 256, 130, 0, false},
                          {20, 1, 64, 0, 0, false}};
  for (const Shape &shape : shapes) {
    CacheModel cache = filled(shape, {200, 37});
    SluiceAttention params = paramsOf(shape);
    int32_t tile =
        tileRows(cacheDim(shape.headDim), shape.heads / shape.kvHeads);
    // Two tiles of a prompt, some rows that fill no tile, and one row of
    // another sequence.
    std::vector<StepRow> rows;
    for (int32_t i = 0; i < 2 * tile + tile / 2; ++i)
      rows.push_back({0, 120 + i});
    rows.push_back({1, 36});
    auto q = queries(shape, rows.size());
    std::vector<float> spans = cache.attend(params, rows, q);
    for (Order order : {Order::Descending, Order::Shuffled}) {
      std::vector<float> tiles =
          cache.attend(params, rows, q, {true, 2, 96, order});
      ASSERT_TRUE(sameBits<float>(tiles, spans))
          << "head size " << shape.headDim;
    }
  }
}

TEST_P(AttentionKernelTest, RowsWithOnePlaceForAllSpansHaveTheSameBits) {
  const Shape shapes[] = {{6, 2, 80, 0, 0, true},
                          {20, 1, 64, 200, 0, false},
                          {2, 1, 256, 0, 5, false}};
  for (const Shape &shape : shapes) {
    CacheModel cache = filled(shape, {700, 5, 129});
    SluiceAttention params = paramsOf(shape);
    const std::vector<StepRow> rows = {{2, 128}, {0, 699}, {1, 4}, {0, 511}};
    auto q = queries(shape, rows.size());
    std::vector<float> want = cache.attend(params, rows, q);
    // From the last row on, the rows have 4 spans, 1, 6 and 2.
    for (int32_t places : {0, 4, 9, 11, 13}) {
      AttendWay way = {false, 2, 6, Order::Shuffled, 0, places};
      ASSERT_TRUE(sameBits<float>(cache.attend(params, rows, q, way), want))
          << "head size " << shape.headDim << ", " << places << " places";
    }
  }
}

/// A block goes over several rows: rows in tiles, rows in no tile, and rows
/// whose spans one warp adds up.
TEST_P(AttentionKernelTest, BlocksThatGoOverRowsGiveTheSameBits) {
  const Shape shapes[] = {{8, 1, 64, 0, 0, false},
                          {20, 1, 80, 0, 5, true},
                          {16, 2, 256, 150, 0, false}};
  for (const Shape &shape : shapes) {
    CacheModel cache = filled(shape, {200, 37, 300});
    SluiceAttention params = paramsOf(shape);
    // Eight rows in no tile, 16 rows in whole tiles or nearly whole ones, and
    // eleven rows in no tile.
    std::vector<StepRow> rows;
    for (int32_t i = 0; i < 5; ++i)
      rows.push_back({2, 299 - 50 * i});
    for (int32_t i = 0; i < 3; ++i)
      rows.push_back({1, 30 + 2 * i});
    for (int32_t i = 0; i < 16; ++i)
      rows.push_back({0, 120 + i});
    for (int32_t i = 0; i < 10; ++i)
      rows.push_back({1, i % 2 == 0 ? 36 - i : i});
    rows.push_back({2, 160});
    auto q = queries(shape, rows.size());
    std::vector<float> want = cache.attend(params, rows, q);
    for (auto [blocks, order] :
         {std::pair(1, Order::Ascending), std::pair(3, Order::Descending),
          std::pair(3, Order::Shuffled), std::pair(16, Order::Shuffled)}) {
      const int32_t places = blocks == 3 ? 5 : 1 << 20;
      AttendWay way = {true, 2, 40, order, blocks, places};
      ASSERT_TRUE(sameBits<float>(cache.attend(params, rows, q, way), want))
          << "head size " << shape.headDim << ", " << blocks << " blocks";
    }
  }
}

/// There are more rows than a warp looks at together.
TEST_P(AttentionKernelTest, ManyRowsInTilesAreGoneOver) {
  Shape shape = {8, 1, 64, 0, 0, false};
  CacheModel cache = filled(shape, {90, 20});
  SluiceAttention params = paramsOf(shape);
  std::vector<StepRow> rows;
  for (int32_t i = 0; i < 80; ++i)
    rows.push_back({0, 10 + i});
  for (int32_t position : {19, 3, 11})
    rows.push_back({1, position});
  auto q = queries(shape, rows.size());
  std::vector<float> want = cache.attend(params, rows, q);
  for (int32_t blocks : {1, 2, 128}) {
    AttendWay way = {true, 1, 128, Order::Shuffled, blocks};
    EXPECT_TRUE(sameBits<float>(cache.attend(params, rows, q, way), want))
        << blocks << " blocks";
  }
}

/// The last rows move into the holes of rows that have left. So tiles are
/// broken up, and others may arise.
TEST_P(AttentionKernelTest, WhoeverHasLeftEachRowIsComputedOnce) {
  Shape shape = {8, 1, 64, 0, 0, false};
  CacheModel cache = filled(shape, {150, 37});
  SluiceAttention params = paramsOf(shape);
  const auto tile = size_t(tileRows(64, 8));
  std::vector<StepRow> rows;
  for (size_t i = 0; i < tile; ++i)
    rows.push_back({1, 36 - int32_t(i)});
  for (size_t i = 0; i < 3 * tile; ++i)
    rows.push_back({0, 120 + int32_t(i)});
  auto q = queries(shape, rows.size());
  const std::vector<float> all = cache.attend(params, rows, q);
  const size_t rowFloats = size_t(shape.heads * shape.headDim);
  std::vector<std::vector<uint8_t>> whoLives(6);
  // So many of the first rows have left that the last tile moves to their
  // places; or one row has left, and the last row is in no tile any more.
  for (size_t i = 0; i < rows.size(); ++i) {
    whoLives[0].push_back(i >= tile);
    whoLives[1].push_back(i != 2);
  }
  for (size_t i = 2; i < whoLives.size(); ++i)
    for (size_t row = 0; row < rows.size(); ++row)
      whoLives[i].push_back(random() % 8 != 0);
  for (const std::vector<uint8_t> &lives : whoLives) {
    std::vector<RowMove> moves;
    const auto remaining = size_t(planCompaction(lives, moves));
    std::vector<size_t> origins(rows.size());
    std::iota(origins.begin(), origins.end(), 0);
    for (RowMove move : moves)
      origins[size_t(move.to)] = origins[size_t(move.from)];
    origins.resize(remaining);
    std::vector<StepRow> now;
    std::vector<float> queriesNow, want;
    for (size_t origin : origins) {
      auto at = std::ptrdiff_t(origin * rowFloats),
           end = at + std::ptrdiff_t(rowFloats);
      now.push_back(rows[origin]);
      queriesNow.insert(queriesNow.end(), q.begin() + at, q.begin() + end);
      want.insert(want.end(), all.begin() + at, all.begin() + end);
    }
    for (int32_t blocks : {2, 40}) {
      AttendWay way = {true, 1, 40, Order::Shuffled, blocks, 6};
      ASSERT_TRUE(
          sameBits<float>(cache.attend(params, now, queriesNow, way), want))
          << remaining << " rows are left, " << blocks << " blocks";
    }
  }
}

TEST_P(AttentionKernelTest, MoreSpansThanThreadsAreMergedInOrder) {
  Shape shape = {2, 1, 16, 0, 0, false};
  constexpr int32_t tokens = 66 * spanTokens + 1;
  CacheModel cache = filled(shape, {tokens});
  SluiceAttention params = paramsOf(shape);
  auto q = queries(shape, 1);
  std::vector<float> out = cache.attend(params, {{0, tokens - 1}}, q);
  std::vector<double> want =
      cpu::referenceAttention(params, q.data(), cache.stored(false, 0, tokens),
                              cache.stored(true, 0, tokens), tokens - 1);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_NEAR(out[i], want[i], 3 * 0x1p-10) << i;
  // These places make one merge after another.
  std::vector<float> serial = cache.attend(
      params, {{0, tokens - 1}}, q, {false, 1, 1, Order::Ascending, 0, 0});
  EXPECT_TRUE(sameBits<float>(serial, out));
}

TEST_P(AttentionKernelTest, ARowIsTheSameInAnyBatch) {
  Shape shape = {6, 2, 64, 0, 0, false};
  CacheModel cache = filled(shape, {290, 5, 140});
  SluiceAttention params = paramsOf(shape);
  const std::vector<StepRow> rows = {{2, 139}, {0, 289}, {1, 4}, {0, 288}};
  auto q = queries(shape, rows.size());
  std::vector<float> together =
      cache.attend(params, rows, q, {true, 3, 16, Order::Shuffled});
  size_t rowFloats = size_t(shape.heads * shape.headDim);
  for (size_t i = 0; i < rows.size(); ++i) {
    auto from = q.begin() + std::ptrdiff_t(i * rowFloats);
    std::vector<float> alone = cache.attend(
        params, {rows[i]}, {from, from + std::ptrdiff_t(rowFloats)});
    ASSERT_TRUE(sameBits<float>(
        alone, std::span(together).subspan(i * rowFloats, rowFloats)));
  }
}

TEST_P(AttentionKernelTest, MirrorsStoreARowTwice) {
  Shape shape = {2, 2, 64, 0, 0, false};
  CacheModel cache = filled(shape, {40, 40, 40});
  auto k = randomFloats(random, 2 * 128), v = randomFloats(random, 2 * 128);
  cache.append({{0, 33}, {0, 34}}, k, v, {{1, 2}});
  for (bool values : {false, true}) {
    std::vector<float> own = cache.stored(values, 0, 40);
    std::vector<float> copy = cache.stored(values, 2, 40);
    for (size_t i = 34 * 128; i < 35 * 128; ++i)
      ASSERT_EQ(own[i], copy[i]);
    EXPECT_NE(own[33 * 128], copy[33 * 128]);
  }
}

TEST_P(AttentionKernelTest, ABrokenTokenBreaksThoseWhoSeeIt) {
  Shape shape = {4, 1, 64, 0, 0, false};
  CacheModel cache = filled(shape, {48});
  SluiceAttention params = paramsOf(shape);
  std::vector<StepRow> rows;
  for (int32_t i = 0; i < 16; ++i)
    rows.push_back({0, 32 + i});
  auto q = queries(shape, rows.size());
  std::vector<float> before = cache.attend(params, rows, q);
  for (float bad : {NAN, INFINITY}) {
    auto k = randomFloats(random, 64), v = randomFloats(random, 64);
    v[17] = bad;
    cache.append({{0, 40}}, k, v);
    for (bool tiles : {false, true}) {
      std::vector<float> out = cache.attend(params, rows, q, {tiles});
      for (size_t i = 0; i < out.size(); ++i) {
        if (i / 256 >= 8)
          ASSERT_TRUE(std::isnan(out[i]));
        else
          ASSERT_EQ(out[i], before[i]);
      }
    }
  }
}

TEST_P(AttentionKernelTest, WithoutRowsNothingIsWritten) {
  Shape shape = {2, 2, 64, 0, 0, false};
  CacheModel cache = filled(shape, {8});
  EXPECT_TRUE(
      cache.attend(paramsOf(shape), {}, {}, {true, 1, 4, Order::Ascending})
          .empty());
}

TEST(PageCopyTest, CopiesAreMadeInOrderInEveryLayer) {
  constexpr int32_t pages = 6;
  constexpr int64_t pageBytes[] = {16, 9216};
  DeviceArray<uint8_t> caches[2];
  auto layers = DeviceArray<LayerPages>(2).holdingAddresses();
  std::vector<uint8_t> want[2];
  std::mt19937 random(3);
  for (size_t i = 0; i < 2; ++i) {
    caches[i] = DeviceArray<uint8_t>(size_t(pages * pageBytes[i]));
    for (size_t at = 0; at < caches[i].size(); ++at)
      caches[i][at] = uint8_t(random());
    layers[i] = {caches[i].data(), pageBytes[i]};
    want[i] = caches[i].values();
  }
  // The second copy reads what the first has written, and the third overwrites
  // it.
  const std::vector<int32_t> list = {0, 3, 3, 4, 1, 3, 5, 0};
  for (size_t copy = 0; copy < list.size(); copy += 2)
    for (size_t i = 0; i < 2; ++i)
      std::copy_n(want[i].begin() + list[copy] * pageBytes[i], pageBytes[i],
                  want[i].begin() + list[copy + 1] * pageBytes[i]);
  DeviceArray<int32_t> copies(list);
  DeviceArray<int32_t> count(std::vector<int32_t>{4});
  PageCopyArguments arguments = {layers.data(), copies.data(), count.data()};
  LateInputs late;
  late.hide(caches[0]);
  late.hide(caches[1]);
  late.hide(copies);
  late.hide(count);
  emulator::LaunchOptions options;
  options.grid = {2, 2, 1};
  options.threads = copyThreads;
  options.order = Order::Shuffled;
  late.expectLaunch(options, "sluice_copy_pages", arguments);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(caches[i].values(), want[i]);
}

TEST(AttentionSharedTest, EveryKernelFitsIntoTheSmallestChip) {
  for (int32_t dim : {64, 128, 256}) {
    EXPECT_LE(attendSharedBytes(dim), 99 << 10);
    // Each block takes 1 KiB in addition for the system.
    EXPECT_EQ((228 << 10) / (attendSharedBytes(dim) + 1024),
              attendResidentBlocks(dim));
    EXPECT_LE(tileSharedBytes(dim), 99 << 10);
    EXPECT_EQ(tileRows(dim, maxTileGroup(dim)), 1);
    EXPECT_EQ(tileRows(dim, maxTileGroup(dim) + 1), 0);
  }
}
