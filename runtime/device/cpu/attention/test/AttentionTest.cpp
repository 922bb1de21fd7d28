//===- AttentionTest.cpp - attention against its definition ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/Attention.h"
#include "runtime/core/CachePages.h"
#include "runtime/device/cpu/KvCache.h"
#include "runtime/device/cpu/attention/test/AttentionReference.h"
#include "runtime/device/cpu/attention/test/RunnableKernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;

namespace {

struct Shape {
  int64_t heads, kvHeads, headDim, window;
  float softcap;
  bool alibi;
};

constexpr Shape shapes[] = {
    {4, 4, 64, 0, 0, false},    {8, 2, 64, 0, 0, false},
    {6, 1, 20, 0, 0, false},    {5, 5, 80, 0, 0, false},
    {3, 1, 96, 0, 0, false},    {2, 1, 128, 0, 0, false},
    {2, 2, 8, 0, 0, false},     {1, 1, 1, 0, 0, false},
    {71, 1, 16, 0, 0, false},   {8, 2, 64, 1, 0, false},
    {8, 2, 64, 17, 0, false},   {4, 4, 20, 32, 0, false},
    {8, 2, 64, 64, 0, false},   {4, 1, 48, 1000, 0, false},
    {8, 2, 64, 0, 5.0f, false}, {8, 8, 64, 0, 0, true},
    {6, 2, 20, 40, 3.0f, true}, {2, 1, 256, 0, 0, true},
};

constexpr int64_t tokenCount = 150;

/// The alignment of working memory.
struct alignas(64) AlignedFloats {
  float at[16];
};

/// One sequence of random queries, keys and values, stored in pages in a mixed
/// order, in a cache that holds NaNs wherever nothing has been stored.
class StoredSequence {
public:
  explicit StoredSequence(const Shape &shape, CacheFormat format)
      : cache(LayerCache::create({shape.kvHeads, shape.headDim}, format,
                                 pageCount)
                  .take()) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    auto fill = [&](std::vector<float> &to, int64_t count) {
      to.resize(static_cast<size_t>(count));
      for (float &each : to)
        each = normal(random);
    };
    fill(q, tokenCount * shape.heads * shape.headDim);
    fill(k, tokenCount * shape.kvHeads * shape.headDim);
    fill(v, tokenCount * shape.kvHeads * shape.headDim);
    for (int64_t head = 0; head < shape.heads; ++head)
      slopes.push_back(std::exp2(-static_cast<float>(head % 8) - 1));
    params = {shape.heads,
              shape.kvHeads,
              shape.headDim,
              shape.window,
              1 / std::sqrt(static_cast<float>(shape.headDim)),
              shape.softcap,
              shape.alibi ? slopes.data() : nullptr};
    pages.resize(pageCount);
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), random);
    positions.resize(tokenCount);
    std::iota(positions.begin(), positions.end(), 0);
    forgetFrom(0);
  }

  /// Stores NaNs from position `first` on.
  void forgetFrom(int64_t first) {
    std::vector<float> nans(params.headDim,
                            std::numeric_limits<float>::quiet_NaN());
    for (int64_t t = first; t < pageCount * CachePages::pageTokens; ++t)
      for (int64_t head = 0; head < params.kvHeads; ++head)
        storeAt(t, head, nans.data(), nans.data());
  }

  void append(int64_t first, int64_t count) {
    for (int64_t t = first; t < first + count; ++t)
      for (int64_t head = 0; head < params.kvHeads; ++head) {
        int64_t place = (t * params.kvHeads + head) * params.headDim;
        storeAt(t, head, k.data() + place, v.data() + place);
      }
  }

  /// Computes attention of `rows` rows from position `first` on, for
  /// `headCount` heads from `headBegin` on, and writes it to
  /// out[position][heads][headDim].
  void attend(const AttentionKernels &kernels, int64_t first, int64_t rows,
              int64_t headBegin, int64_t headCount, std::vector<float> &out) {
    auto floats =
        size_t(attentionScratchFloats(params.headDim, cache.layout().format));
    std::vector<AlignedFloats> scratch((floats + 15) / 16);
    int64_t place = first * params.heads * params.headDim;
    AttentionUnit unit = {};
    unit.params = &params;
    setCache(unit, cache, headBegin / (params.heads / params.kvHeads));
    unit.pages = pages.data();
    unit.positions = positions.data() + first;
    unit.rows = rows;
    unit.headBegin = headBegin;
    unit.headCount = headCount;
    unit.q = q.data() + place;
    unit.out = out.data() + place;
    kernels.attend(unit, reinterpret_cast<float *>(scratch.data()));
  }

  /// Computes all rows, one row and one head at a time, with no later token in
  /// the cache.
  std::vector<float> attendAlone(const AttentionKernels &kernels) {
    std::vector<float> out(q.size());
    forgetFrom(0);
    for (int64_t t = 0; t < tokenCount; ++t) {
      append(t, 1);
      for (int64_t head = 0; head < params.heads; ++head)
        attend(kernels, t, 1, head, 1, out);
    }
    return out;
  }

  static constexpr int64_t pageCount = 6;
  SluiceAttention params = {};
  LayerCache cache;
  std::vector<float> q, k, v, slopes;
  std::vector<int32_t> pages, positions;

private:
  void storeAt(int64_t t, int64_t head, const float *key, const float *value) {
    cache.store(pages[t / CachePages::pageTokens], t % CachePages::pageTokens,
                head, key, value);
  }
};

bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

using Parameters = std::tuple<Isa, Shape, CacheFormat>;

class AttentionTest : public testing::TestWithParam<Parameters> {
protected:
  void SetUp() override {
    if (!requireIsa("avx2").ok())
      GTEST_SKIP() << "this CPU lacks avx2";
    kernels = &runnableKernels(std::get<0>(GetParam()));
  }

  const Shape &shape() const { return std::get<1>(GetParam()); }
  CacheFormat format() const { return std::get<2>(GetParam()); }

  const AttentionKernels *kernels = nullptr;
};

/// Compares with the definition on the cache's numbers, whose rounding is
/// tested elsewhere.
TEST_P(AttentionTest, AgreesWithTheDefinition) {
  StoredSequence sequence(shape(), format());
  std::vector<float> out = sequence.attendAlone(*kernels);
  std::vector<float> k = asStored(sequence.k, shape().headDim, format());
  std::vector<float> v = asStored(sequence.v, shape().headDim, format());
  int64_t rowFloats = sequence.params.heads * sequence.params.headDim;
  for (int64_t t = 0; t < tokenCount; ++t) {
    std::vector<double> expected = referenceAttention(
        sequence.params, sequence.q.data() + t * rowFloats, k, v, t);
    for (int64_t i = 0; i < rowFloats; ++i)
      ASSERT_NEAR(out[t * rowFloats + i], expected[i], 3e-6)
          << "position " << t << ", element " << i;
  }
}

class RoundedCacheTest : public AttentionTest {};

/// A cache of 8-bit integers gives the results of a float cache of the same
/// numbers.
TEST_P(RoundedCacheTest, RoundedNumbersAreNumbersLikeOthers) {
  StoredSequence sequence(shape(), format());
  StoredSequence floats(shape(), CacheFormat::F32);
  floats.k = asStored(floats.k, shape().headDim, format());
  floats.v = asStored(floats.v, shape().headDim, format());
  EXPECT_TRUE(
      sameBits(sequence.attendAlone(*kernels), floats.attendAlone(*kernels)));
}

/// A row's bits do not depend on how rows are put into steps, on how units are
/// cut, or on what the cache has after the row.
TEST_P(AttentionTest, BatchMatesAndChunksChangeNoBit) {
  StoredSequence sequence(shape(), format());
  std::vector<float> alone = sequence.attendAlone(*kernels);
  int64_t heads = sequence.params.heads;
  int64_t group = heads / sequence.params.kvHeads;
  for (int64_t chunk :
       {int64_t{1}, int64_t{7}, int64_t{16}, int64_t{64}, tokenCount})
    for (int64_t headChunk : {int64_t{1}, int64_t{3}, maxUnitPairs}) {
      std::vector<float> out(sequence.q.size());
      sequence.forgetFrom(0);
      for (int64_t first = 0; first < tokenCount; first += chunk) {
        int64_t rows = std::min(chunk, tokenCount - first);
        sequence.append(first, rows);
        for (int64_t head = 0; head < heads;) {
          int64_t count = std::min(headChunk, group - head % group);
          int64_t tile = maxUnitPairs / count;
          for (int64_t row = 0; row < rows; row += tile)
            sequence.attend(*kernels, first + row, std::min(tile, rows - row),
                            head, count, out);
          head += count;
        }
      }
      ASSERT_TRUE(sameBits(out, alone))
          << "chunks of " << chunk << ", " << headChunk << " heads";
    }
}

TEST_P(AttentionTest, NansComeThrough) {
  StoredSequence sequence(shape(), format());
  sequence.append(0, tokenCount);
  // A NaN in the query poisons its own head alone.
  int64_t t = 40;
  int64_t dim = sequence.params.headDim;
  int64_t heads = sequence.params.heads;
  sequence.q[t * heads * dim] = std::nanf("");
  std::vector<float> out(sequence.q.size());
  int64_t group = heads / sequence.params.kvHeads;
  for (int64_t head = 0; head < heads; ++head)
    sequence.attend(*kernels, t, 1, head, 1, out);
  for (int64_t d = 0; d < dim; ++d)
    EXPECT_TRUE(std::isnan(out[t * heads * dim + d]));
  if (group > 1)
    EXPECT_FALSE(std::isnan(out[(t * heads + 1) * dim]));
}

/// A row does not see keys whose products are below all floats, even if its
/// whole first page has such keys.
TEST_P(AttentionTest, ScoresBelowAllFloatsHaveNoWeight) {
  StoredSequence sequence(shape(), format());
  const SluiceAttention &params = sequence.params;
  constexpr int64_t t = 40, hidden = CachePages::pageTokens;
  int64_t keyFloats = params.kvHeads * params.headDim;
  std::fill_n(sequence.k.begin(), hidden * keyFloats, -1e38f);
  std::fill_n(sequence.q.begin() + t * params.heads * params.headDim,
              params.heads * params.headDim, 1e4f);
  sequence.append(0, t + 1);
  std::vector<float> out(sequence.q.size());
  for (int64_t head = 0; head < params.heads; ++head)
    sequence.attend(*kernels, t, 1, head, 1, out);
  for (int64_t i = 0; i < params.heads * params.headDim; ++i)
    ASSERT_TRUE(std::isfinite(out[t * params.heads * params.headDim + i]));
}

std::string nameOf(const testing::TestParamInfo<Parameters> &info) {
  auto [isa, shape, format] = info.param;
  return std::string(isaName(isa)) + "_" + std::to_string(shape.heads) + "x" +
         std::to_string(shape.kvHeads) + "x" + std::to_string(shape.headDim) +
         (shape.window ? "_window" + std::to_string(shape.window) : "") +
         (shape.softcap != 0 ? "_softcap" : "") +
         (shape.alibi ? "_alibi" : "") + "_" +
         std::string(cacheFormatName(format));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionTest,
    testing::Combine(testing::Values(Isa::Avx2, Isa::Avx512),
                     testing::ValuesIn(shapes),
                     testing::Values(CacheFormat::F32, CacheFormat::Q8_0)),
    nameOf);

INSTANTIATE_TEST_SUITE_P(Shapes, RoundedCacheTest,
                         testing::Combine(testing::Values(Isa::Avx2,
                                                          Isa::Avx512),
                                          testing::ValuesIn(shapes),
                                          testing::Values(CacheFormat::Q8_0)),
                         nameOf);

} // namespace
