//===- KvCache.cpp - the stored keys and values of one layer --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/KvCache.h"

#include <cstring>

namespace sluice::cpu {

Expected<LayerCache> LayerCache::create(CacheShape shape, int64_t pages) {
  if (shape.kvHeads < 1 || shape.kvHeads > maxKvHeads)
    return failure("cache: ", shape.kvHeads, " kv heads is not between 1 and ",
                   maxKvHeads);
  if (shape.headDim < 1 || shape.headDim > maxHeadDim)
    return failure("cache: a head size of ", shape.headDim,
                   " is not between 1 and ", maxHeadDim);
  CacheLayout layout(shape);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(layout.pageFloats()) *
                                 sizeof(float),
                             static_cast<uint64_t>(pages), &bytes))
    return failure("cache: ", pages, " pages are more than can be addressed");
  Expected<ZeroedMemory> memory = ZeroedMemory::allocate(bytes, "cache");
  if (!memory)
    return memory.status();
  return LayerCache(layout, memory.take());
}

void LayerCache::store(int64_t page, int64_t slot, int64_t kvHead,
                       const float *k, const float *v) {
  float *base = block(page, kvHead);
  float *keys = base + slot / groupTokens * groupTokens * places.headDim +
                slot % groupTokens;
  for (int64_t dim = 0; dim < places.headDim; ++dim)
    keys[dim * groupTokens] = k[dim];
  // The padding of v is zero from the start and never written.
  float *values = base + places.valuesOffset() + slot * places.paddedDim;
  std::memcpy(values, v, static_cast<size_t>(places.headDim) * sizeof(float));
}

void LayerCache::copyPage(int64_t from, int64_t to, int64_t headBegin,
                          int64_t headEnd) {
  // The blocks of a page's heads lie one after another.
  std::memcpy(block(to, headBegin), block(from, headBegin),
              static_cast<size_t>((headEnd - headBegin) * places.headFloats()) *
                  sizeof(float));
}

} // namespace sluice::cpu
