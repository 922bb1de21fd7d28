//===- KVCache.h - one layer's cached keys and values ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_INTERPRETER_KVCACHE_H
#define SLUICE_INTERPRETER_KVCACHE_H

#include "runtime/core/CachePages.h"

#include <map>
#include <span>
#include <vector>

namespace sluice::interpreter {

/// Holds the keys and values of positions of sequences, in pages that are made
/// when something is stored in them. It is the content of a `!sluice.cache`. A
/// table of pages says which page a position of a sequence lies in.
class KVCache {
public:
  KVCache(int64_t kvHeads, int64_t headDim)
      : numHeads(kvHeads), headSize(headDim) {}

  int64_t kvHeads() const { return numHeads; }
  int64_t headDim() const { return headSize; }

  /// Stores key[kvHeads][headDim] and value (same shape) at `position`.
  void store(SequenceId sequence, int64_t position, std::span<const float> key,
             std::span<const float> value, const CachePages &table);

  /// The cached keys and values of a sequence. Valid until the next change of
  /// the cache or the table.
  class Entries {
  public:
    /// These return the key or value of one head at a stored position:
    /// [headDim].
    std::span<const float> key(int64_t position, int64_t kvHead) const {
      return head(pageOf(position).keys, position, kvHead);
    }
    std::span<const float> value(int64_t position, int64_t kvHead) const {
      return head(pageOf(position).values, position, kvHead);
    }

  private:
    friend class KVCache;
    struct Page {
      std::vector<float> keys;   ///< keys[pageTokens][kvHeads][headDim]
      std::vector<float> values; ///< values[pageTokens][kvHeads][headDim]
    };

    const Page &pageOf(int64_t position) const {
      return *pages[static_cast<size_t>(position / CachePages::pageTokens)];
    }
    std::span<const float> head(const std::vector<float> &from,
                                int64_t position, int64_t kvHead) const {
      int64_t slot = position % CachePages::pageTokens;
      return std::span(from).subspan((slot * numHeads + kvHead) * headSize,
                                     headSize);
    }

    int64_t numHeads = 0;
    int64_t headSize = 0;
    std::vector<const Page *> pages;
  };

  /// Returns the entries of the first `length` positions of a sequence, all of
  /// which must have been stored.
  Entries entries(SequenceId sequence, int64_t length,
                  const CachePages &table) const;

  /// Makes page `to` what page `from` is.
  void copyPage(PageCopy copy);

private:
  int64_t numHeads;
  int64_t headSize;
  std::map<int64_t, Entries::Page> pages; ///< by number
};

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_KVCACHE_H
