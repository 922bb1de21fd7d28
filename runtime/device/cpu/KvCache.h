//===- KvCache.h - the stored keys and values of one layer ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Float32. A page (CachePages.h) of a layer has one block for each kv head:
//
//   k[group][dim][16]    two groups of 16 tokens, transposed: a vector register
//                        holds one dimension of 16 tokens, so that scores are
//                        summed over dimensions in each lane, in order, without
//                        a horizontal sum
//   v[32][paddedDim]     token by token; dimensions padded to a multiple of 16
//                        with zeros
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_KVCACHE_H
#define SLUICE_RUNTIME_DEVICE_CPU_KVCACHE_H

#include "runtime/core/CachePages.h"
#include "runtime/device/cpu/ZeroedMemory.h"

#include <cstdint>

namespace sluice::cpu {

/// A layer's cache, as the descriptor has it.
struct CacheShape {
  int64_t kvHeads = 0;
  int64_t headDim = 0;
};

/// Tokens of a group of transposed keys.
constexpr int64_t groupTokens = 16;

/// Where things lie in a layer's cache; in floats.
struct CacheLayout {
  int64_t kvHeads = 0;
  int64_t headDim = 0;
  int64_t paddedDim = 0; ///< headDim rounded up to 16

  explicit CacheLayout(CacheShape shape)
      : kvHeads(shape.kvHeads), headDim(shape.headDim),
        paddedDim((shape.headDim + 15) / 16 * 16) {}

  int64_t valuesOffset() const { return CachePages::pageTokens * headDim; }
  int64_t headFloats() const {
    return CachePages::pageTokens * (headDim + paddedDim);
  }
  int64_t pageFloats() const { return kvHeads * headFloats(); }
};

/// The pages of one layer. Which sequence holds which page is CachePages'
/// business. Different threads may append different rows at the same time.
class LayerCache {
public:
  /// Limits that keep products of the sizes far from overflow.
  static constexpr int64_t maxKvHeads = 1 << 16;
  static constexpr int64_t maxHeadDim = 1024;

  /// Memory for `pages` pages. Errors: sizes out of range, or no memory.
  static Expected<LayerCache> create(CacheShape shape, int64_t pages);

  const CacheLayout &layout() const { return places; }
  uint64_t bytes() const { return memory.bytes(); }

  float *block(int64_t page, int64_t kvHead) {
    return memory.floats() + page * places.pageFloats() +
           kvHead * places.headFloats();
  }
  const float *block(int64_t page, int64_t kvHead) const {
    return const_cast<LayerCache *>(this)->block(page, kvHead);
  }

  /// Stores k[headDim] and v[headDim] of one token and kv head at `slot`
  /// (0 .. pageTokens-1) of `page`.
  void store(int64_t page, int64_t slot, int64_t kvHead, const float *k,
             const float *v);

  /// Makes page `to` equal to page `from` for the kv heads of [headBegin,
  /// headEnd): all of their slots, whether they are in use or not.
  void copyPage(int64_t from, int64_t to, int64_t headBegin, int64_t headEnd);

private:
  LayerCache(CacheLayout layout, ZeroedMemory memory)
      : places(layout), memory(std::move(memory)) {}

  CacheLayout places;
  ZeroedMemory memory;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_KVCACHE_H
