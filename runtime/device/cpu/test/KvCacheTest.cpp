//===- KvCacheTest.cpp - the layout of keys and values in the cache -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/KvCache.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;

namespace {

LayerCache makeCache(device::CacheShape shape, CacheFormat format,
                     int64_t pages) {
  Expected<LayerCache> made = LayerCache::create(shape, format, pages);
  EXPECT_TRUE(made) << made.status().message();
  return made.take();
}

TEST(KvCacheTest, KeysAreTransposedAndValuesPadded) {
  LayerCache cache = makeCache({2, 20}, CacheFormat::F32, 3);
  EXPECT_EQ(cache.layout().paddedDim, 32);
  std::vector<float> k(20), v(20);
  for (int d = 0; d < 20; ++d) {
    k[d] = 100.0f + d;
    v[d] = 200.0f + d;
  }
  cache.store(/*page=*/2, /*slot=*/18, /*kvHead=*/1, k.data(), v.data());
  auto *block = reinterpret_cast<const float *>(cache.block(2, 1));
  for (int d = 0; d < 20; ++d) {
    EXPECT_EQ(block[(1 * 20 + d) * 16 + 2], k[d]); // k[group][dim][16]
    EXPECT_EQ(block[32 * 20 + 18 * 32 + d], v[d]); // v[32][paddedDim]
  }
  for (int d = 20; d < 32; ++d)
    EXPECT_EQ(block[32 * 20 + 18 * 32 + d], 0);
  EXPECT_EQ(cache.block(2, 1) - cache.block(2, 0), 4 * 32 * (20 + 32));
  EXPECT_EQ(cache.bytes(), 3u * 2 * 4 * 32 * (20 + 32));
}

/// Heads of 40 have a block of 32 dimensions and one of 8, and values padded to
/// 48.
TEST(KvCacheTest, EightBitsLieLikeFloatsWithScalesBehind) {
  LayerCache cache = makeCache({2, 40}, CacheFormat::Q8_0, 3);
  EXPECT_EQ(cache.layout().keyScalesOffset(), 32 * 40);
  EXPECT_EQ(cache.layout().valuesOffset(), 1280 + 2 * 32 * 4);
  EXPECT_EQ(cache.layout().valueScalesOffset(), 1536 + 32 * 48);
  EXPECT_EQ(cache.layout().headBytes(), 3072 + 32 * 2 * 4);
  EXPECT_EQ(cache.bytes(), 3u * 2 * 3328);
  std::vector<float> k(40), v(40);
  for (int d = 0; d < 40; ++d) {
    k[d] = d < 32 ? d - 31.0f : 0.25f * (d - 39);
    v[d] = d < 32 ? 2.0f * d : d - 32.0f;
  }
  cache.store(/*page=*/2, /*slot=*/18, /*kvHead=*/1, k.data(), v.data());
  const uint8_t *block = cache.block(2, 1);
  auto *keys = reinterpret_cast<const int8_t *>(block);
  auto *keyScales = reinterpret_cast<const float *>(block + 1280);
  auto *values = reinterpret_cast<const int8_t *>(block + 1536);
  auto *valueScales = reinterpret_cast<const float *>(block + 3072);
  for (int d = 0; d < 40; ++d) {
    double key = d < 32 ? (d - 31) * 127 / 31.0 : (d - 39) * 127 / 7.0;
    EXPECT_EQ(keys[(1 * 40 + d) * 16 + 2], std::nearbyint(key)) << d;
    double value = d < 32 ? d * 127 / 31.0 : (d - 32) * 127 / 7.0;
    EXPECT_EQ(values[18 * 48 + d], std::nearbyint(value)) << d;
  }
  for (int d = 40; d < 48; ++d)
    EXPECT_EQ(values[18 * 48 + d], 0);
  EXPECT_EQ(keyScales[0 * 32 + 18], 31 / 127.0f); // kScales[scale][32]
  EXPECT_EQ(keyScales[1 * 32 + 18], 1.75f / 127);
  EXPECT_EQ(valueScales[18 * 2 + 0], 62 / 127.0f); // vScales[32][scale]
  EXPECT_EQ(valueScales[18 * 2 + 1], 7 / 127.0f);
}

/// Returns what a value of 32 numbers is read back as.
std::vector<float> roundTrip(const std::vector<float> &v) {
  LayerCache cache = makeCache({1, 32}, CacheFormat::Q8_0, 1);
  cache.store(0, 0, 0, v.data(), v.data());
  auto *values = reinterpret_cast<const int8_t *>(
      cache.block(0, 0) + cache.layout().valuesOffset());
  float scale;
  std::memcpy(&scale, cache.block(0, 0) + cache.layout().valueScalesOffset(),
              sizeof(scale));
  std::vector<float> back;
  for (int i = 0; i < 32; ++i)
    back.push_back(float(values[i]) * scale);
  return back;
}

TEST(KvCacheTest, RoundsToTheNearestHalfToEven) {
  std::vector<float> v(32), expected(32);
  const float from[] = {-127,  0.5f, 1.5f, 2.5f,   -0.5f,
                        -1.5f, 3.4f, 3.6f, 126.5f, -126.6f};
  const float to[] = {-127, 0, 2, 2, 0, -2, 3, 4, 126, -127};
  std::copy(std::begin(from), std::end(from), v.begin());
  std::copy(std::begin(to), std::end(to), expected.begin());
  EXPECT_EQ(roundTrip(v), expected);
  // The error is at most half a step, at any size.
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int exponent = -99; exponent < 120; ++exponent) {
    float largest = 0;
    for (float &x : v) {
      x = std::ldexp(normal(random), exponent);
      largest = std::max(largest, std::abs(x));
    }
    std::vector<float> back = roundTrip(v);
    for (int i = 0; i < 32; ++i)
      EXPECT_LE(std::abs(back[i] - v[i]), largest / 127 * 0.50001f);
  }
}

TEST(KvCacheTest, WhatHasNoScaleIsZeroOrNotANumber) {
  std::vector<float> v(32, std::ldexp(1.0f, -101));
  EXPECT_EQ(roundTrip(v), std::vector<float>(32));
  EXPECT_EQ(roundTrip(std::vector<float>(32, -0.0f)), std::vector<float>(32));
  for (float bad : {std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()}) {
    v.assign(32, 1);
    v[7] = bad;
    for (float x : roundTrip(v))
      EXPECT_TRUE(std::isnan(x));
  }
}

TEST(KvCacheTest, EightBitsTakeLittleMoreThanAQuarter) {
  for (int64_t dim : {64, 96, 128, 256}) {
    CacheLayout floats({8, dim}, CacheFormat::F32);
    CacheLayout bytes({8, dim}, CacheFormat::Q8_0);
    EXPECT_EQ(bytes.pageBytes() * 32, floats.pageBytes() * 9) << dim;
  }
}

TEST(KvCacheTest, PagesAreCopiedHeadByHead) {
  for (CacheFormat format : {CacheFormat::F32, CacheFormat::Q8_0}) {
    LayerCache cache = makeCache({3, 20}, format, 4);
    int64_t bytes = cache.layout().headBytes();
    auto valueOf = [](int64_t page, int64_t head, int64_t i) {
      return uint8_t(page * 59 + head * 17 + i * 7 + i / 256);
    };
    for (int64_t page = 0; page < 4; ++page)
      for (int64_t head = 0; head < 3; ++head)
        for (int64_t i = 0; i < bytes; ++i)
          cache.block(page, head)[i] = valueOf(page, head, i);
    cache.copyPage(/*from=*/3, /*to=*/1, /*headBegin=*/1, /*headEnd=*/3);
    cache.copyPage(0, 2, 1, 1);
    for (int64_t page = 0; page < 4; ++page)
      for (int64_t head = 0; head < 3; ++head)
        for (int64_t i = 0; i < bytes; ++i)
          ASSERT_EQ(cache.block(page, head)[i],
                    valueOf(page == 1 && head > 0 ? 3 : page, head, i));
  }
}

TEST(KvCacheTest, ShapesOutOfRangeAreRefused) {
  auto makes = [](device::CacheShape shape, int64_t pages) {
    return bool(LayerCache::create(shape, CacheFormat::F32, pages));
  };
  EXPECT_FALSE(makes({0, 64}, 1));
  EXPECT_FALSE(makes({1, 0}, 1));
  EXPECT_FALSE(makes({1, 1025}, 1));
  EXPECT_FALSE(makes({int64_t{1} << 40, 64}, 1));
  EXPECT_FALSE(makes({1 << 16, 1024}, int64_t{1} << 60));
}

/// Returns the bytes of this process that are in memory.
int64_t residentBytes() {
  int64_t pages = 0;
  std::ifstream file("/proc/self/statm");
  file >> pages >> pages;
  return pages * 4096;
}

TEST(ZeroedMemoryTest, IsResidentWhereItIsAskedToBe) {
  constexpr int64_t bytes = 64 << 20;
  Expected<ZeroedMemory> memory = ZeroedMemory::allocate(bytes, "test");
  ASSERT_TRUE(memory);
  memory->floats()[5] = 3;
  int64_t before = residentBytes();
  ASSERT_TRUE(memory->makeResident("test").ok());
  EXPECT_GT(residentBytes() - before, bytes / 2);
  EXPECT_EQ(memory->floats()[5], 3);
  EXPECT_EQ(memory->floats()[bytes / 4 - 1], 0);
}

TEST(ZeroedMemoryTest, IsZeroAndMoves) {
  Expected<ZeroedMemory> made = ZeroedMemory::allocate(1 << 20, "test");
  ASSERT_TRUE(made);
  ZeroedMemory memory = made.take();
  EXPECT_EQ(memory.floats()[1000], 0);
  memory.floats()[1000] = 3;
  ZeroedMemory other = std::move(memory);
  EXPECT_EQ(other.floats()[1000], 3);
  EXPECT_EQ(other.bytes(), 1u << 20);
  EXPECT_EQ(ZeroedMemory::allocate(0, "test")->bytes(), 0u);
  EXPECT_TRUE(ZeroedMemory().makeResident("test").ok());
  EXPECT_FALSE(ZeroedMemory::allocate(uint64_t{1} << 62, "test"));
}

} // namespace
