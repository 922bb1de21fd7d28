//===- KVCache.h - one layer's cached keys and values ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_INTERPRETER_KVCACHE_H
#define SLUICE_INTERPRETER_KVCACHE_H

#include "runtime/core/StepBatch.h"

#include <map>
#include <span>
#include <vector>

namespace sluice::interpreter {

/// Holds the keys and values of every position of every sequence, in vectors
/// that grow. It is the content of a `!sluice.cache`.
class KVCache {
public:
  KVCache(int64_t kvHeads, int64_t headDim)
      : numHeads(kvHeads), headSize(headDim) {}

  int64_t kvHeads() const { return numHeads; }
  int64_t headDim() const { return headSize; }

  /// Stores key[kvHeads][headDim] and value (same shape) at `position`, which
  /// is at most the sequence's length. Drops the entries that were stored from
  /// `position` on, since a step that goes back replaces the end of a sequence.
  void store(SequenceId sequence, int64_t position, std::span<const float> key,
             std::span<const float> value);

  /// The cached keys and values of a sequence. Valid until the next store() or
  /// erase().
  class Entries {
  public:
    /// These return the key or value of one head at a stored position:
    /// [headDim].
    std::span<const float> key(int64_t position, int64_t kvHead) const {
      return head(keys, position, kvHead);
    }
    std::span<const float> value(int64_t position, int64_t kvHead) const {
      return head(values, position, kvHead);
    }

  private:
    friend class KVCache;

    std::span<const float> head(const std::vector<float> &from,
                                int64_t position, int64_t kvHead) const {
      return std::span(from).subspan((position * numHeads + kvHead) * headSize,
                                     headSize);
    }

    int64_t numHeads = 0;
    int64_t headSize = 0;
    std::vector<float> keys;   // keys[position][kvHead][headDim]
    std::vector<float> values; // values[position][kvHead][headDim]
  };

  /// Returns the entries of a sequence, which must have some.
  const Entries &entries(SequenceId sequence) const {
    return sequences.at(sequence);
  }

  /// Drops the sequence.
  void erase(SequenceId sequence) { sequences.erase(sequence); }

private:
  int64_t numHeads;
  int64_t headSize;
  std::map<SequenceId, Entries> sequences;
};

} // namespace sluice::interpreter

#endif // SLUICE_INTERPRETER_KVCACHE_H
