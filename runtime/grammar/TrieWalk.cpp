//===- TrieWalk.cpp - finds the tokens that a grammar accepts -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/TrieWalk.h"

#include "runtime/grammar/CodePointSet.h"

#include <algorithm>

using namespace sluice::grammar;

/// Returns whether the matcher's items from `begin`, which are at `node`, are
/// the same at every node below it, except for counts, which must not reach a
/// bound there.
bool TrieWalk::staysBelow(const TokenTrie &trie, uint32_t node, size_t begin) {
  constexpr size_t maxItems = 4, maxLoops = 8;
  if (matcher.items.size() - begin > maxItems)
    return false;
  wanted.assign(matcher.items.begin() + static_cast<ptrdiff_t>(begin),
                matcher.items.end());
  for (MatchItem &item : wanted)
    if (!matcher.normalizeCount(item, trie.heightOf(node)))
      return false;
  for (const Loop &loop : loops)
    if (loop.items == wanted)
      return (trie.classesBelow(node) & ~loop.classes) == 0;
  if (loops.size() == maxLoops)
    return false;
  loops.push_back({wanted, loopClasses(begin)});
  return (trie.classesBelow(node) & ~loops.back().classes) == 0;
}

/// Returns whether the items from `begin` are again those of staysBelow().
bool TrieWalk::isWanted(size_t begin) const {
  if (matcher.items.size() - begin != wanted.size())
    return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    MatchItem item = matcher.items[begin + i];
    if (!matcher.normalizeCount(item, 0) || item != wanted[i])
      return false;
  }
  return true;
}

/// Returns the classes of which every character leads from the items from
/// `begin`, which are `wanted`, back to them.
uint64_t TrieWalk::loopClasses(size_t begin) {
  size_t end = matcher.items.size();
  uint64_t others = uint64_t(1) << TokenTrie::brokenClass;
  for (uint8_t c = 0; c < 0x80; ++c) {
    matcher.step(begin, end, c);
    if (!isWanted(end))
      others |= uint64_t(1) << TokenTrie::characterClass(c);
    matcher.items.resize(end);
  }
  if (!loopsOnWide(begin))
    others |= uint64_t(1) << TokenTrie::wideClass;
  return ~others;
}

/// Returns whether all characters that are not ASCII lead from the items from
/// `begin` back to them. For that, all bytes of a range of UTF-8 must lead to
/// equal items.
bool TrieWalk::loopsOnWide(size_t begin) {
  static const auto forms =
      utf8Sequences(CodePointSet({{0x80, CodePointSet::last}}));
  std::vector<MatchItem> &items = matcher.items;
  size_t end = items.size();
  bool loops = true;
  for (const std::vector<ByteRange> &form : forms) {
    size_t from = begin, to = end;
    for (ByteRange range : form) {
      size_t count = matcher.step(from, to, range.low);
      for (unsigned byte = range.low + 1u; byte <= range.high; ++byte) {
        matcher.step(from, to, static_cast<uint8_t>(byte));
        loops &= std::equal(items.begin() + static_cast<ptrdiff_t>(to),
                            items.begin() + static_cast<ptrdiff_t>(to + count),
                            items.begin() + static_cast<ptrdiff_t>(to + count),
                            items.end());
        items.resize(to + count);
      }
      from = to;
      to = items.size();
    }
    loops &= isWanted(from);
    items.resize(end);
    if (!loops)
      return false;
  }
  return true;
}
