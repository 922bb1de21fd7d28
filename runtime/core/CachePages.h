//===- CachePages.h - which sequence holds which pages of the cache -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps account of the pages of the cache; a page is only a number here. For
// each layer a device has an array of pages, and it stores position p of a
// sequence in the sequence's page p / pageTokens. One table serves all layers.
//
// A page holds 32 tokens, for three reasons. The keys and values of one KV head
// of a page (16 KiB at head size 64, 32 KiB at 128) stay in the first-level
// cache while all rows and heads that read them are computed. 32 tokens are a
// whole number of vectors on every CPU. At most 31 tokens of memory per
// sequence are unused.
//
// Sequences with equal prefixes share the pages of the prefix: fork() counts
// references to full pages and copies the page that is not full. A shared page
// is never written: if a sequence was cut back into a shared page, it gets a
// copy of that page when it grows again. The device makes the copies before the
// step that writes to them:
//
//   Expected<CachePages::Fork> fork = pages.fork(parent, length);
//   if (fork->copy)
//     copies.push_back(*fork->copy);
//
// A full page can also be retained without a sequence. Then it outlives the
// sequence that it was filled for, and later sequences can begin with it:
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

/// An order to copy page `from` to page `to` in all layers. Copies are made in
/// the order in which they were requested: a later copy may read or overwrite
/// the result of an earlier one.
struct PageCopy {
  int32_t from = 0;
  int32_t to = 0;
  bool operator==(const PageCopy &) const = default;
};

/// The pages of a cache and the sequences that hold them. create() allocates
/// all memory; no later call allocates. Thread-compatible.
class CachePages {
public:
  static constexpr int64_t pageTokens = 32;

  /// Returns how many pages `tokens` tokens of one sequence take.
  static int64_t pagesFor(int64_t tokens) {
    return tokens / pageTokens + (tokens % pageTokens != 0);
  }

  struct Limits {
    int64_t pages = 0;             ///< pages in all
    int64_t sequences = 0;         ///< sequences open at the same time
    int64_t tokensPerSequence = 0; ///< the context length
  };

  /// Fails on a limit below one, or on tables that are too large.
  static Expected<CachePages> create(const Limits &limits);

  /// Opens an empty sequence. Ids of closed sequences are reused. Fails if the
  /// limit of open sequences is reached.
  Expected<SequenceId> open();

  /// Opens a sequence that begins with the pages `prefix`, which it shares.
  /// They must be full and in use, and no more than a sequence can hold.
  /// O(pages). Fails as open() does.
  Expected<SequenceId> open(std::span<const int32_t> prefix);

  struct Fork {
    SequenceId sequence = 0;
    std::optional<PageCopy> copy;
  };

  /// Opens a sequence with the first `length` tokens of `parent`, which is at
  /// least as long. Full pages are shared. If `length` lies inside a page, the
  /// new sequence gets its own page there, to which the caller copies the
  /// parent's page. O(pages of the new sequence). Fails, and changes nothing,
  /// if the limit of open sequences is reached or no page is free.
  Expected<Fork> fork(SequenceId parent, int64_t length);

  /// Closes a sequence and frees the pages that have no other holder. O(pages
  /// held).
  void close(SequenceId sequence);

  bool isOpen(SequenceId sequence) const;

  /// Returns the length of the sequence, in tokens.
  int64_t length(SequenceId sequence) const;

  /// Makes the sequence `tokens` long and takes the pages that this needs. If
  /// the sequence grows into a shared page, its own page replaces the shared
  /// one and `copy` is set to the copy to make; otherwise `copy` is left as it
  /// was. A caller that never forks needs no `copy`. Fails, and changes
  /// nothing, if the length is over the sequence's limit, if too few pages are
  /// free, or if a copy is needed and `copy` is null. O(pages taken).
  Status grow(SequenceId sequence, int64_t tokens,
              std::optional<PageCopy> *copy = nullptr);

  /// Makes the sequence `tokens` long if it is longer, and gives back the pages
  /// that it no longer uses; those that have no other holder become free.
  /// O(pages given back).
  void truncate(SequenceId sequence, int64_t tokens);

  /// Returns the pages of the sequence: position p lies in pages(s)[p /
  /// pageTokens].
  std::span<const int32_t> pages(SequenceId sequence) const;

  /// Holds a page that is in use independently of sequences. Calls add up.
  void retain(int32_t page);
  /// Undoes one retain(). A page without holders becomes free.
  void release(int32_t page);

  /// Returns how many sequences hold the page plus how often it is retained; 0
  /// if the page is free.
  int32_t holders(int32_t page) const {
    return references[static_cast<size_t>(page)] +
           retained[static_cast<size_t>(page)];
  }

  int64_t freePages() const { return static_cast<int64_t>(unused.size()); }
  /// Returns how many pages sequences hold. Pages that are only retained do not
  /// count.
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
  int64_t tablePages;              ///< entries of one sequence's table
  std::vector<int32_t> table;      ///< table[sequence][page index]
  std::vector<int64_t> tokens;     ///< tokens[sequence], or closed
  std::vector<int32_t> references; ///< references[page]: sequences that hold it
  std::vector<int32_t> retained;   ///< retained[page]: calls of retain()
  int64_t inSequences = 0;         ///< pages with references
  std::vector<int32_t> unused;     ///< free pages, as a stack
  std::vector<SequenceId> closedId; ///< free sequence ids, as a stack
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_CACHEPAGES_H
