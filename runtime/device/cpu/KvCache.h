//===- KvCache.h - the stored keys and values of one layer ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A page (CachePages.h) of a layer has one block for each kv head:
//
//   k[group][dim][16]    two groups of 16 tokens, transposed: a vector register
//                        holds one dimension of 16 tokens, so that scores are
//                        summed over dimensions in each lane, in order, without
//                        a horizontal sum
//   kScales[scale][32]   q8_0 only: of each 32 dimensions, token by token
//   v[32][paddedDim]     token by token; dimensions padded to a multiple of 16
//                        with zeros
//   vScales[32][scale]   q8_0 only
//
// Numbers are floats, or in q8_0 bytes that stand for byte * scale. 32 numbers
// are 128 bytes there and 36 here: 3.5 times as many tokens.
//
// Why blocks of 32 and not one scale for the whole key: keys can have a few
// dimensions that are far larger than the others, and all that share a scale
// with one of these lose their low bits. Of 128 dimensions with one that is ten
// times as large, blocks halve the error of a score. They cost 36 bytes instead
// of 33, and no time: numbers are multiplied by a scale either way.
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

/// Tokens of a group of transposed keys.
constexpr int64_t groupTokens = 16;

/// Where things lie in a layer's cache; in bytes.
struct CacheLayout {
  CacheFormat format;
  int64_t kvHeads;
  int64_t headDim;
  int64_t paddedDim;   ///< headDim rounded up to 16
  int64_t numberBytes; ///< of one number of a key or value
  int64_t scales;      ///< of one token's key, and of its value; f32: none

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

/// The pages of one layer. Which sequence holds which page is CachePages'
/// business. Different threads may append different rows at the same time.
class LayerCache {
public:
  /// Limits that keep products of the sizes far from overflow.
  static constexpr int64_t maxKvHeads = 1 << 16;
  static constexpr int64_t maxHeadDim = 1024;

  /// Memory for `pages` pages. Errors: sizes out of range, or no memory.
  static Expected<LayerCache> create(device::CacheShape shape,
                                     CacheFormat format, int64_t pages);

  const CacheLayout &layout() const { return places; }
  uint64_t bytes() const { return memory.bytes(); }
  /// As ZeroedMemory's.
  Status makeResident() { return memory.makeResident("cache"); }

  uint8_t *block(int64_t page, int64_t kvHead) {
    return reinterpret_cast<uint8_t *>(memory.floats()) +
           page * places.pageBytes() + kvHead * places.headBytes();
  }
  const uint8_t *block(int64_t page, int64_t kvHead) const {
    return const_cast<LayerCache *>(this)->block(page, kvHead);
  }

  /// Stores k[headDim] and v[headDim] of one token and kv head at `slot`
  /// (0 .. pageTokens-1) of `page`. In q8_0 the largest of a block becomes 127
  /// times the scale, and the others are rounded to the nearest, half to even;
  /// a block below 2^-100 becomes zeros, one with an infinity or a NaN NaNs.
  void store(int64_t page, int64_t slot, int64_t kvHead, const float *k,
             const float *v);

  /// Makes page `to` equal to page `from` for the kv heads of [headBegin,
  /// headEnd): all of their slots, whether they are in use or not.
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
