//===- CachePages.cpp - which sequence holds which pages of the cache -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CachePages.h"

#include <algorithm>

namespace sluice {

namespace {

/// Page numbers and table indices stay far below what 32 and 64 bits hold.
constexpr int64_t maxPages = int64_t{1} << 30;
constexpr int64_t maxSequences = int64_t{1} << 20;
constexpr int64_t maxTableEntries = int64_t{1} << 31;

} // namespace

Expected<CachePages> CachePages::create(const Limits &limits) {
  if (limits.pages < 1 || limits.pages > maxPages)
    return failure("cache: ", limits.pages, " pages is not between 1 and ",
                   maxPages);
  if (limits.sequences < 1 || limits.sequences > maxSequences)
    return failure("cache: ", limits.sequences,
                   " sequences is not between 1 and ", maxSequences);
  if (limits.tokensPerSequence < 1)
    return failure("cache: a context of ", limits.tokensPerSequence,
                   " tokens is too short");
  // A sequence can hold no more pages than there are.
  Limits bounds = limits;
  bounds.tokensPerSequence =
      std::min(limits.tokensPerSequence, limits.pages * pageTokens);
  if (pagesFor(bounds.tokensPerSequence) > maxTableEntries / bounds.sequences)
    return failure("cache: the page tables of ", limits.sequences,
                   " sequences of ", limits.tokensPerSequence,
                   " tokens are too large");
  return CachePages(bounds);
}

CachePages::CachePages(const Limits &limits)
    : bounds(limits), tablePages(pagesFor(limits.tokensPerSequence)),
      table(static_cast<size_t>(tablePages * limits.sequences)),
      tokens(static_cast<size_t>(limits.sequences), closed) {
  // Stacks that give out the lowest numbers first.
  unused.reserve(static_cast<size_t>(limits.pages));
  for (int64_t page = limits.pages - 1; page >= 0; --page)
    unused.push_back(static_cast<int32_t>(page));
  closedId.reserve(static_cast<size_t>(limits.sequences));
  for (int64_t id = limits.sequences - 1; id >= 0; --id)
    closedId.push_back(static_cast<SequenceId>(id));
}

int32_t *CachePages::tableOf(SequenceId sequence) {
  return table.data() + sequence * tablePages;
}

Expected<SequenceId> CachePages::open() {
  if (closedId.empty())
    return failure("cache: more than ", bounds.sequences, " open sequences");
  SequenceId sequence = closedId.back();
  closedId.pop_back();
  tokens[sequence] = 0;
  return sequence;
}

void CachePages::close(SequenceId sequence) {
  assert(isOpen(sequence));
  truncate(sequence, 0);
  tokens[sequence] = closed;
  closedId.push_back(sequence);
}

bool CachePages::isOpen(SequenceId sequence) const {
  return sequence >= 0 && sequence < bounds.sequences &&
         tokens[sequence] != closed;
}

int64_t CachePages::length(SequenceId sequence) const {
  assert(isOpen(sequence));
  return tokens[sequence];
}

Status CachePages::grow(SequenceId sequence, int64_t length) {
  assert(isOpen(sequence) && length >= tokens[sequence]);
  if (length > bounds.tokensPerSequence)
    return failure("cache: sequence ", sequence, ": ", length,
                   " tokens is more than the limit of ",
                   bounds.tokensPerSequence);
  int64_t held = pagesFor(tokens[sequence]);
  int64_t needed = pagesFor(length);
  if (needed - held > freePages())
    return failure("cache: sequence ", sequence, " needs ", needed - held,
                   " more pages of ", pageTokens, " tokens and ", freePages(),
                   " are free");
  int32_t *pages = tableOf(sequence);
  for (int64_t index = held; index < needed; ++index) {
    pages[index] = unused.back();
    unused.pop_back();
  }
  tokens[sequence] = length;
  return {};
}

void CachePages::truncate(SequenceId sequence, int64_t length) {
  assert(isOpen(sequence) && length >= 0);
  if (length >= tokens[sequence])
    return;
  int32_t *pages = tableOf(sequence);
  int64_t kept = pagesFor(length);
  for (int64_t index = pagesFor(tokens[sequence]); index > kept; --index)
    unused.push_back(pages[index - 1]);
  tokens[sequence] = length;
}

std::span<const int32_t> CachePages::pages(SequenceId sequence) const {
  assert(isOpen(sequence));
  return {table.data() + sequence * tablePages,
          static_cast<size_t>(pagesFor(tokens[sequence]))};
}

int64_t CachePages::openSequences() const {
  return bounds.sequences - static_cast<int64_t>(closedId.size());
}

} // namespace sluice
