//===- KvCache.h - the stored keys and values of one layer ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer has one block of each page (CachePages.h) for each kv head:
//
//   k[group][dim][16]    two groups of 16 tokens, transposed: a vector register
//                        holds one dimension of 16 tokens, so that scores are
//                        summed over dimensions in each lane, in order, without
//                        a horizontal sum
//   kScales[scale][32]   q8_0 only: for each 32 dimensions, token by token
//   v[32][paddedDim]     token by token; dimensions padded to a multiple of 16
//                        with zeros
//   vScales[32][scale]   q8_0 only
//
// Elements are floats, or in q8_0 bytes that stand for byte * scale. 32
// elements take 128 bytes as floats and 36 bytes in q8_0, so q8_0 holds 3.5
// times as many tokens.
//
// Why blocks of 32 have a scale, and not the whole key: keys can have a few
// dimensions that are far larger than the others, and all dimensions that share
// a scale with one of these lose their low bits. In a key of 128 dimensions
// with one that is ten times as large, blocks halve the error of a score. They
// cost 36 bytes instead of 33, and no time, because elements are multiplied by
// a scale in both cases.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_KVCACHE_H
#define SLUICE_RUNTIME_DEVICE_CPU_KVCACHE_H

#include "runtime/core/CachePages.h"
#include "runtime/device/ProgramShape.h"
#include "runtime/device/cpu/CacheFormat.h"
#include "runtime/device/cpu/ZeroedMemory.h"

#include <cstdint>

namespace sluice::cpu {

/// The number of tokens in a group of transposed keys.
constexpr int64_t groupTokens = 16;

/// The offsets and sizes, in bytes, of the parts of a layer's cache.
struct CacheLayout {
  CacheFormat format;
  int64_t kvHeads;
  int64_t headDim;
  int64_t paddedDim;   ///< headDim rounded up to 16
  int64_t numberBytes; ///< of one element of a key or value
  int64_t scales; ///< of one token's key, and as many of its value; 0 in f32

  CacheLayout(device::CacheShape shape, CacheFormat format)
      : format(format), kvHeads(shape.kvHeads), headDim(shape.headDim),
        paddedDim((shape.headDim + 15) / 16 * 16),
        numberBytes(format == CacheFormat::F32 ? sizeof(float) : 1),
        scales(format == CacheFormat::F32
                   ? 0
                   : (shape.headDim + scaledDims - 1) / scaledDims) {}

  int64_t keyScalesOffset() const {
    return CachePages::pageTokens * headDim * numberBytes;
  }
  int64_t valuesOffset() const { return keyScalesOffset() + scaleBytes(); }
  int64_t valueScalesOffset() const {
    return valuesOffset() + CachePages::pageTokens * paddedDim * numberBytes;
  }
  int64_t headBytes() const { return valueScalesOffset() + scaleBytes(); }
  int64_t pageBytes() const { return kvHeads * headBytes(); }

private:
  int64_t scaleBytes() const {
    return CachePages::pageTokens * scales * int64_t(sizeof(float));
  }
};

/// Owns the memory of one layer's pages. CachePages knows which sequence has
/// which page. Different threads may store different rows at the same time.
class LayerCache {
public:
  /// These limits keep products of the sizes far from overflow.
  static constexpr int64_t maxKvHeads = 1 << 16;
  static constexpr int64_t maxHeadDim = 1024;

  /// Allocates memory for `pages` pages. Errors: sizes out of range; no memory.
  static Expected<LayerCache> create(device::CacheShape shape,
                                     CacheFormat format, int64_t pages);

  const CacheLayout &layout() const { return places; }
  uint64_t bytes() const { return memory.bytes(); }
  /// See ZeroedMemory::makeResident().
  Status makeResident() { return memory.makeResident("cache"); }

  uint8_t *block(int64_t page, int64_t kvHead) {
    return reinterpret_cast<uint8_t *>(memory.floats()) +
           page * places.pageBytes() + kvHead * places.headBytes();
  }
  const uint8_t *block(int64_t page, int64_t kvHead) const {
    return const_cast<LayerCache *>(this)->block(page, kvHead);
  }

  /// Stores k[headDim] and v[headDim] of one token and kv head at `slot` (0 ..
  /// pageTokens-1) of `page`. In q8_0 the largest element of a block becomes
  /// 127 times the scale, and the others are rounded to the nearest integer,
  /// half to even. A block with all magnitudes below 2^-100 becomes zeros; a
  /// block with an infinity or a NaN becomes NaNs.
  void store(int64_t page, int64_t slot, int64_t kvHead, const float *k,
             const float *v);

  /// Makes page `to` equal to page `from` for the kv heads [headBegin,
  /// headEnd). Copies all slots, also those that are not in use.
  void copyPage(int64_t from, int64_t to, int64_t headBegin, int64_t headEnd);

private:
  LayerCache(CacheLayout layout, ZeroedMemory memory)
      : places(layout), memory(std::move(memory)) {}

  void storeFloats(uint8_t *block, int64_t slot, const float *k,
                   const float *v);
  void storeRounded(uint8_t *block, int64_t slot, const float *k,
                    const float *v);

  CacheLayout places;
  ZeroedMemory memory;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_KVCACHE_H
