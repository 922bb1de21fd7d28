//===- CachePages.h - which sequence holds which pages of the cache -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bookkeeping only: a page is a number. A device keeps, for each layer, an
// array of pages and stores position p of a sequence in its page p /
// pageTokens. One table serves all layers.
//
// A page holds 32 tokens: the keys and values of one kv head of a page (16 KiB
// at head size 64, 32 KiB at 128) then stay in the first-level cache while all
// rows and heads that read them pass over; it is a whole number of vectors on
// every CPU; and at most 31 tokens of memory per sequence are unused.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_CACHEPAGES_H
#define SLUICE_RUNTIME_CORE_CACHEPAGES_H

#include "runtime/core/StepBatch.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Pages of a cache and the sequences that hold them. Everything is allocated
/// by create(); no later call allocates. Thread-compatible.
class CachePages {
public:
  static constexpr int64_t pageTokens = 32;

  /// Pages that `tokens` tokens of one sequence take.
  static int64_t pagesFor(int64_t tokens) {
    return tokens / pageTokens + (tokens % pageTokens != 0);
  }

  struct Limits {
    int64_t pages = 0;             ///< pages in all
    int64_t sequences = 0;         ///< sequences open at the same time
    int64_t tokensPerSequence = 0; ///< the context length
  };

  /// Errors: a limit below one, or tables that would not fit in memory.
  static Expected<CachePages> create(const Limits &limits);

  /// Opens an empty sequence. Ids of closed sequences are used again. Error:
  /// as many as the limit are open.
  Expected<SequenceId> open();

  /// Ends a sequence; its pages are free. O(pages held).
  void close(SequenceId sequence);

  bool isOpen(SequenceId sequence) const;

  /// Tokens that the sequence has room for in use.
  int64_t length(SequenceId sequence) const;

  /// Makes the sequence `tokens` long; takes pages as needed. Errors, and then
  /// nothing changed: over the sequence's limit, or not enough free pages.
  Status grow(SequenceId sequence, int64_t tokens);

  /// Makes the sequence `tokens` long, where that is shorter, and frees the
  /// pages that are no longer in use. O(pages freed).
  void truncate(SequenceId sequence, int64_t tokens);

  /// The pages of the sequence: position p lies in pages(s)[p / pageTokens].
  std::span<const int32_t> pages(SequenceId sequence) const;

  int64_t freePages() const { return static_cast<int64_t>(unused.size()); }
  int64_t openSequences() const;
  const Limits &limits() const { return bounds; }

private:
  explicit CachePages(const Limits &limits);
  int32_t *tableOf(SequenceId sequence);

  static constexpr int64_t closed = -1;

  Limits bounds;
  int64_t tablePages;               ///< entries of one sequence's table
  std::vector<int32_t> table;       ///< table[sequence][page index]
  std::vector<int64_t> tokens;      ///< tokens[sequence], or closed
  std::vector<int32_t> unused;      ///< free pages, as a stack
  std::vector<SequenceId> closedId; ///< free sequence ids, as a stack
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_CACHEPAGES_H
