//===- KvCacheTest.cpp - where keys and values are stored -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/KvCache.h"

#include <gtest/gtest.h>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;

namespace {

TEST(KvCacheTest, KeysAreTransposedAndValuesPadded) {
  Expected<LayerCache> made = LayerCache::create({2, 20}, 3);
  ASSERT_TRUE(made) << made.status().message();
  LayerCache cache = made.take();
  EXPECT_EQ(cache.layout().paddedDim, 32);
  std::vector<float> k(20), v(20);
  for (int d = 0; d < 20; ++d) {
    k[d] = 100.0f + d;
    v[d] = 200.0f + d;
  }
  cache.store(/*page=*/2, /*slot=*/18, /*kvHead=*/1, k.data(), v.data());
  const float *block = cache.block(2, 1);
  for (int d = 0; d < 20; ++d) {
    EXPECT_EQ(block[(1 * 20 + d) * 16 + 2], k[d]); // k[group][dim][16]
    EXPECT_EQ(block[32 * 20 + 18 * 32 + d], v[d]); // v[32][paddedDim]
  }
  for (int d = 20; d < 32; ++d)
    EXPECT_EQ(block[32 * 20 + 18 * 32 + d], 0);
  EXPECT_EQ(cache.block(2, 1) - cache.block(2, 0), 32 * (20 + 32));
}

TEST(KvCacheTest, PagesAreCopiedHeadByHead) {
  Expected<LayerCache> made = LayerCache::create({3, 20}, 4);
  ASSERT_TRUE(made) << made.status().message();
  LayerCache cache = made.take();
  int64_t floats = cache.layout().headFloats();
  auto valueOf = [](int64_t page, int64_t head, int64_t i) {
    return float(page * 1000000 + head * 100000 + i);
  };
  for (int64_t page = 0; page < 4; ++page)
    for (int64_t head = 0; head < 3; ++head)
      for (int64_t i = 0; i < floats; ++i)
        cache.block(page, head)[i] = valueOf(page, head, i);
  cache.copyPage(/*from=*/3, /*to=*/1, /*headBegin=*/1, /*headEnd=*/3);
  cache.copyPage(0, 2, 1, 1);
  for (int64_t page = 0; page < 4; ++page)
    for (int64_t head = 0; head < 3; ++head)
      for (int64_t i = 0; i < floats; ++i)
        ASSERT_EQ(cache.block(page, head)[i],
                  valueOf(page == 1 && head > 0 ? 3 : page, head, i));
}

TEST(KvCacheTest, ShapesOutOfRangeAreRefused) {
  EXPECT_FALSE(LayerCache::create({0, 64}, 1));
  EXPECT_FALSE(LayerCache::create({1, 0}, 1));
  EXPECT_FALSE(LayerCache::create({1, 1025}, 1));
  EXPECT_FALSE(LayerCache::create({int64_t{1} << 40, 64}, 1));
  EXPECT_FALSE(LayerCache::create({1 << 16, 1024}, int64_t{1} << 60));
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
  EXPECT_FALSE(ZeroedMemory::allocate(uint64_t{1} << 62, "test"));
}

} // namespace
