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
// Sequences that begin alike share the pages of that prefix: fork() counts
// references to full pages and copies the one that is not full. What is shared
// is never written: a sequence that was cut back into a shared page gets a copy
// of it when it grows again. The copying itself is the device's, before the
// step that writes to the copies:
//
//   Expected<CachePages::Fork> fork = pages.fork(parent, length);
//   if (fork->copy)
//     copies.push_back(*fork->copy);
//
// A full page can be held by somebody who is no sequence, too, so that it
// outlives the sequence that it was filled for, and sequences can begin with
// it:
//
//   pages.retain(page);
//   pages.close(sequence);
//   Expected<SequenceId> next = pages.open({page});
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_CACHEPAGES_H
#define SLUICE_RUNTIME_CORE_CACHEPAGES_H

#include "runtime/core/StepBatch.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// The content of page `from`, in all layers, goes to page `to`. Copies are
/// made in the order in which they were asked for: a later one may read or
/// overwrite what an earlier one wrote.
struct PageCopy {
  int32_t from = 0;
  int32_t to = 0;
  bool operator==(const PageCopy &) const = default;
};

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

  /// Opens a sequence that begins with these pages, which are full, in use and
  /// now shared; no more than a sequence can hold. O(pages). Error: as open().
  Expected<SequenceId> open(std::span<const int32_t> prefix);

  struct Fork {
    SequenceId sequence = 0;
    std::optional<PageCopy> copy;
  };

  /// Opens a sequence of the first `length` tokens of `parent`, which is at
  /// least as long. Full pages are shared; where `length` lies inside a page,
  /// the new sequence gets a page of its own in place of it, to which the
  /// caller copies the parent's. O(pages of the new sequence). Errors, and then
  /// nothing changed: as many sequences as the limit are open, or no page is
  /// free.
  Expected<Fork> fork(SequenceId parent, int64_t length);

  /// Ends a sequence; pages that nobody else holds are free. O(pages held).
  void close(SequenceId sequence);

  bool isOpen(SequenceId sequence) const;

  /// Tokens that the sequence has room for in use.
  int64_t length(SequenceId sequence) const;

  /// Makes the sequence `tokens` long; takes pages as needed. Where it grows
  /// into a page that is shared, a page of its own takes its place, and `copy`
  /// is set to what is to be copied; else `copy` is left alone. Without forks,
  /// `copy` is not needed. Errors, and then nothing changed: over the
  /// sequence's limit, not enough free pages, or a copy that nobody asked for.
  /// O(pages taken).
  Status grow(SequenceId sequence, int64_t tokens,
              std::optional<PageCopy> *copy = nullptr);

  /// Makes the sequence `tokens` long, where that is shorter, and gives back
  /// the pages that are no longer in use: those are free that nobody else
  /// holds. O(pages given back).
  void truncate(SequenceId sequence, int64_t tokens);

  /// The pages of the sequence: position p lies in pages(s)[p / pageTokens].
  std::span<const int32_t> pages(SequenceId sequence) const;

  /// Holds a page that is in use, besides the sequences; each call once more.
  void retain(int32_t page);
  /// Takes one retain() back; a page that nobody else holds is free.
  void release(int32_t page);

  /// How many sequences hold the page, and how often it was retained; 0: it is
  /// free.
  int32_t holders(int32_t page) const {
    return references[static_cast<size_t>(page)] +
           retained[static_cast<size_t>(page)];
  }

  int64_t freePages() const { return static_cast<int64_t>(unused.size()); }
  /// Pages that sequences hold, those apart that are only retained.
  int64_t pagesOfSequences() const { return inSequences; }
  int64_t openSequences() const;
  const Limits &limits() const { return bounds; }

private:
  explicit CachePages(const Limits &limits);
  int32_t *tableOf(SequenceId sequence);
  int32_t takePage();
  void sharePage(int32_t page);
  void givePage(int32_t page);

  static constexpr int64_t closed = -1;

  Limits bounds;
  int64_t tablePages;               ///< entries of one sequence's table
  std::vector<int32_t> table;       ///< table[sequence][page index]
  std::vector<int64_t> tokens;      ///< tokens[sequence], or closed
  std::vector<int32_t> references;  ///< references[page]: sequences with it
  std::vector<int32_t> retained;    ///< retained[page]: other holders
  int64_t inSequences = 0;          ///< pages with references
  std::vector<int32_t> unused;      ///< free pages, as a stack
  std::vector<SequenceId> closedId; ///< free sequence ids, as a stack
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_CACHEPAGES_H
