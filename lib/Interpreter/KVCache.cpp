//===- KVCache.cpp - one layer's cached keys and values -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/KVCache.h"

#include <algorithm>
#include <cassert>

using namespace sluice;
using namespace sluice::interpreter;

/// Returns the number of the page that a position lies in.
static int64_t pageOf(SequenceId sequence, int64_t position,
                      const CachePages &table) {
  return table.pages(
      sequence)[static_cast<size_t>(position / CachePages::pageTokens)];
}

void KVCache::store(SequenceId sequence, int64_t position,
                    std::span<const float> key, std::span<const float> value,
                    const CachePages &table) {
  const int64_t width = numHeads * headSize;
  Entries::Page &page = pages[pageOf(sequence, position, table)];
  page.keys.resize(CachePages::pageTokens * width);
  page.values.resize(CachePages::pageTokens * width);
  const int64_t at = position % CachePages::pageTokens * width;
  std::ranges::copy(key, page.keys.begin() + at);
  std::ranges::copy(value, page.values.begin() + at);
}

KVCache::Entries KVCache::entries(SequenceId sequence, int64_t length,
                                  const CachePages &table) const {
  Entries entries;
  entries.numHeads = numHeads;
  entries.headSize = headSize;
  for (int64_t first = 0; first < length; first += CachePages::pageTokens) {
    auto found = pages.find(pageOf(sequence, first, table));
    assert(found != pages.end() && "a cache has no holes");
    entries.pages.push_back(&found->second);
  }
  return entries;
}

void KVCache::copyPage(PageCopy copy) {
  if (auto from = pages.find(copy.from); from != pages.end())
    pages[copy.to] = from->second;
  else
    pages.erase(copy.to);
}
