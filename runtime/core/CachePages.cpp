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

/// Upper limits, far below what 32-bit page numbers and 64-bit indices hold.
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
      tokens(static_cast<size_t>(limits.sequences), closed),
      references(static_cast<size_t>(limits.pages), 0),
      retained(static_cast<size_t>(limits.pages), 0) {
  // The stacks are filled so that the lowest numbers are taken first.
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

int32_t CachePages::takePage() {
  int32_t page = unused.back();
  unused.pop_back();
  references[page] = 1;
  ++inSequences;
  return page;
}

/// Adds one sequence to the holders of the page.
void CachePages::sharePage(int32_t page) {
  assert(holders(page) > 0);
  inSequences += references[page]++ == 0;
}

void CachePages::givePage(int32_t page) {
  assert(references[page] > 0);
  if (--references[page] > 0)
    return;
  --inSequences;
  if (retained[page] == 0)
    unused.push_back(page);
}

void CachePages::retain(int32_t page) {
  assert(holders(page) > 0);
  ++retained[page];
}

void CachePages::release(int32_t page) {
  assert(retained[page] > 0);
  if (--retained[page] == 0 && references[page] == 0)
    unused.push_back(page);
}

Expected<SequenceId> CachePages::open() {
  if (closedId.empty())
    return failure("cache: more than ", bounds.sequences, " open sequences");
  SequenceId sequence = closedId.back();
  closedId.pop_back();
  tokens[sequence] = 0;
  return sequence;
}

Expected<SequenceId> CachePages::open(std::span<const int32_t> prefix) {
  assert(std::ssize(prefix) * pageTokens <= bounds.tokensPerSequence);
  Expected<SequenceId> opened = open();
  if (!opened)
    return opened;
  for (int32_t page : prefix)
    sharePage(page);
  std::copy(prefix.begin(), prefix.end(), tableOf(*opened));
  tokens[*opened] = std::ssize(prefix) * pageTokens;
  return opened;
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

Expected<CachePages::Fork> CachePages::fork(SequenceId parent, int64_t length) {
  assert(isOpen(parent) && length >= 0 && length <= tokens[parent]);
  int64_t full = length / pageTokens;
  bool partial = length % pageTokens != 0;
  if (partial && unused.empty())
    return failure("cache: a fork of sequence ", parent, " at ", length,
                   " tokens needs a page and none is free");
  Expected<SequenceId> opened = open();
  if (!opened)
    return opened.status();
  Fork fork{*opened, std::nullopt};
  const int32_t *from = tableOf(parent);
  int32_t *to = tableOf(fork.sequence);
  for (int64_t index = 0; index < full; ++index) {
    to[index] = from[index];
    sharePage(to[index]);
  }
  if (partial) {
    to[full] = takePage();
    fork.copy = PageCopy{from[full], to[full]};
  }
  tokens[fork.sequence] = length;
  return fork;
}

Status CachePages::grow(SequenceId sequence, int64_t length,
                        std::optional<PageCopy> *copy) {
  assert(isOpen(sequence) && length >= tokens[sequence]);
  if (length > bounds.tokensPerSequence)
    return failure("cache: sequence ", sequence, ": ", length,
                   " tokens is more than the limit of ",
                   bounds.tokensPerSequence);
  int32_t *pages = tableOf(sequence);
  int64_t held = pagesFor(tokens[sequence]);
  int64_t needed = pagesFor(length);
  bool shares = length > tokens[sequence] &&
                tokens[sequence] % pageTokens != 0 &&
                holders(pages[held - 1]) > 1;
  if (shares && !copy)
    return failure("cache: sequence ", sequence, " shares page ",
                   pages[held - 1], " and cannot grow without a copy of it");
  int64_t taken = needed - held + (shares ? 1 : 0);
  if (taken > freePages())
    return failure("cache: sequence ", sequence, " needs ", taken,
                   " more pages of ", pageTokens, " tokens and ", freePages(),
                   " are free");
  if (shares) {
    int32_t shared = pages[held - 1];
    pages[held - 1] = takePage();
    givePage(shared);
    *copy = PageCopy{shared, pages[held - 1]};
  }
  for (int64_t index = held; index < needed; ++index)
    pages[index] = takePage();
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
    givePage(pages[index - 1]);
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
