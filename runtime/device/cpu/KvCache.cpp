//===- KvCache.cpp - the stored keys and values of one layer --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/KvCache.h"

#include "runtime/device/cpu/RoundedBlock.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace sluice::cpu {

std::string_view cacheFormatName(CacheFormat format) {
  return format == CacheFormat::F32 ? "f32" : "q8_0";
}

Expected<LayerCache> LayerCache::create(device::CacheShape shape,
                                        CacheFormat format, int64_t pages) {
  if (shape.kvHeads < 1 || shape.kvHeads > maxKvHeads)
    return failure("cache: ", shape.kvHeads, " kv heads is not between 1 and ",
                   maxKvHeads);
  if (shape.headDim < 1 || shape.headDim > maxHeadDim)
    return failure("cache: a head size of ", shape.headDim,
                   " is not between 1 and ", maxHeadDim);
  CacheLayout layout(shape, format);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(layout.pageBytes()),
                             static_cast<uint64_t>(pages), &bytes))
    return failure("cache: ", pages, " pages are more than can be addressed");
  Expected<ZeroedMemory> memory = ZeroedMemory::allocate(bytes, "cache");
  if (!memory)
    return memory.status();
  return LayerCache(layout, memory.take());
}

/// Rounds a block x[count] to q[count] and returns the scale, so that x[i] is
/// about q[i] * scale. Uses only operations that round in the same way on every
/// machine.
static float roundBlock(const float *x, int64_t count, int8_t *q) {
  int32_t largestBits = 0;
  for (int64_t i = 0; i < count; ++i)
    largestBits =
        std::max(largestBits, std::bit_cast<int32_t>(x[i]) & magnitudeMask);
  if (largestBits < minMagnitude || largestBits >= infiniteMagnitude) {
    std::memset(q, 0, static_cast<size_t>(count));
    return largestBits < minMagnitude ? 0
                                      : std::numeric_limits<float>::quiet_NaN();
  }
  float largest = std::bit_cast<float>(largestBits);
  float inverse = 127.0f / largest;
  // Adding 1.5 * 2^23 rounds a number to an integer, half to even. The low bits
  // of the sum hold that integer in two's complement.
  for (int64_t i = 0; i < count; ++i)
    q[i] =
        static_cast<int8_t>(std::bit_cast<int32_t>(x[i] * inverse + 0x3p22f));
  return largest / 127.0f;
}

void LayerCache::store(int64_t page, int64_t slot, int64_t kvHead,
                       const float *k, const float *v) {
  if (places.format == CacheFormat::F32)
    storeFloats(block(page, kvHead), slot, k, v);
  else
    storeRounded(block(page, kvHead), slot, k, v);
}

void LayerCache::storeFloats(uint8_t *block, int64_t slot, const float *k,
                             const float *v) {
  auto *keys = reinterpret_cast<float *>(block) +
               slot / groupTokens * groupTokens * places.headDim +
               slot % groupTokens;
  for (int64_t dim = 0; dim < places.headDim; ++dim)
    keys[dim * groupTokens] = k[dim];
  // The padding of v is zero from the start and never written.
  auto *values = reinterpret_cast<float *>(block + places.valuesOffset()) +
                 slot * places.paddedDim;
  std::memcpy(values, v, static_cast<size_t>(places.headDim) * sizeof(float));
}

void LayerCache::storeRounded(uint8_t *block, int64_t slot, const float *k,
                              const float *v) {
  auto *keys = reinterpret_cast<int8_t *>(block) +
               slot / groupTokens * groupTokens * places.headDim +
               slot % groupTokens;
  auto *keyScales = reinterpret_cast<float *>(block + places.keyScalesOffset());
  auto *values = reinterpret_cast<int8_t *>(block + places.valuesOffset()) +
                 slot * places.paddedDim;
  auto *valueScales =
      reinterpret_cast<float *>(block + places.valueScalesOffset()) +
      slot * places.scales;
  for (int64_t scale = 0; scale < places.scales; ++scale) {
    int64_t first = scale * scaledDims;
    int64_t count = std::min(scaledDims, places.headDim - first);
    int8_t rounded[scaledDims];
    keyScales[scale * CachePages::pageTokens + slot] =
        roundBlock(k + first, count, rounded);
    for (int64_t i = 0; i < count; ++i)
      keys[(first + i) * groupTokens] = rounded[i];
    valueScales[scale] = roundBlock(v + first, count, values + first);
  }
}

void LayerCache::copyPage(int64_t from, int64_t to, int64_t headBegin,
                          int64_t headEnd) {
  // The blocks of a page's heads are contiguous.
  std::memcpy(block(to, headBegin), block(from, headBegin),
              static_cast<size_t>((headEnd - headBegin) * places.headBytes()));
}

} // namespace sluice::cpu
