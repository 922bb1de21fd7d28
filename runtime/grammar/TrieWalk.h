//===- TrieWalk.h - finds the tokens that a grammar accepts ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a vocabulary's trie along a grammar. Inside a string nearly every token
// fits: if the characters below a node all lead back to the items at the node,
// everything below it is accepted at once. Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_TRIEWALK_H
#define SLUICE_RUNTIME_GRAMMAR_TRIEWALK_H

#include "runtime/grammar/GrammarMatcher.h"
#include "runtime/grammar/TokenTrie.h"

#include <vector>

namespace sluice::grammar {

/// The working memory of walks, which keeps its capacity. Thread-compatible.
class TrieWalk {
public:
  GrammarMatcher matcher;

  /// Walks below `top`, at which all of the matcher's items are. Calls
  /// `visit(first, last, begin, end)` for nodes that the grammar accepts: those
  /// from `first` to before `last`, whose items are those in [begin, end),
  /// except for counts. Returns false if the walk takes too many steps. Leaves
  /// the matcher's items as they were.
  template <typename Fn>
  bool below(const TokenTrie &trie, uint32_t top, Fn visit) {
    const TokenTrie::Node *nodes = trie.nodes().data();
    uint32_t topDepth = nodes[top].depth;
    loops.clear();
    begins.resize(trie.longestToken() + 2);
    begins[0] = 0;
    begins[1] = matcher.items.size();
    for (uint32_t node = top + 1, end = nodes[top].skip; node < end;) {
      size_t level = nodes[node].depth - topDepth;
      size_t begin = begins[level];
      matcher.items.resize(begin);
      size_t count = matcher.step(begins[level - 1], begin, nodes[node].byte);
      uint32_t next = count == 0 ? nodes[node].skip : node + 1;
      if (count > 0) {
        begins[level + 1] = begin + count;
        if (nodes[node].skip - node >= fewNodes &&
            staysBelow(trie, node, begin))
          next = nodes[node].skip;
        visit(node, next, begin, begin + count);
      }
      if (matcher.exhausted())
        return false;
      node = next;
    }
    matcher.items.resize(begins[1]);
    return true;
  }

private:
  /// Smaller subtrees are walked node by node.
  static constexpr uint32_t fewNodes = 8;

  /// Items, with counts as normalizeCount() leaves them, and the classes of
  /// characters that lead from these items back to them.
  struct Loop {
    std::vector<MatchItem> items;
    uint64_t classes;
  };

  bool staysBelow(const TokenTrie &trie, uint32_t node, size_t begin);
  uint64_t loopClasses(size_t begin);
  bool loopsOnWide(size_t begin);
  bool isWanted(size_t begin) const;

  /// The begin of the items at each depth below the top.
  std::vector<size_t> begins;
  std::vector<Loop> loops;
  std::vector<MatchItem> wanted;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_TRIEWALK_H
