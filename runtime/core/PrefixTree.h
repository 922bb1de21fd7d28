//===- PrefixTree.h - prefixes of texts whose pages are pinned ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prefixes of texts whose keys and values lie in the caches, as a radix tree
// (SGLang's RadixAttention, arXiv 2312.07104, section 3): a node is one full
// page of tokens behind those of its parent, and is named by the number under
// which the stages pin the page. So two texts share the nodes of what they
// have in common, down to the page.
//
//   int32_t at = tree.find(prompt, pages);    // longest known prefix
//   tree.pin(at);                             // a request uses it
//   ...
//   tree.unpin(at);
//   while (free < needed)
//     std::optional<SharedPage> gone = tree.evict();
//
// A node that a request uses stays, and so do those before it. Of the others
// the one goes first that was not used for longest and that nothing follows:
// whoever uses a node uses all before it, so that the least recently used one
// never has a node behind it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_PREFIXTREE_H
#define SLUICE_RUNTIME_CORE_PREFIXTREE_H

#include "runtime/core/Rows.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// Memory is taken by the constructor; no later call allocates.
/// Thread-compatible.
class PrefixTree {
public:
  /// What comes before the first page of every text.
  static constexpr SharedPage root = -1;

  /// Room for `pages` pages, numbered from 0.
  explicit PrefixTree(int64_t pages);

  /// The last node of the longest known prefix of `tokens`, of at most
  /// `max` pages; root: none is known. Texts of different scopes have nothing
  /// in common. O(pages found).
  SharedPage find(std::span<const int32_t> tokens, int64_t max,
                  uint64_t scope = 0) const;
  SharedPage parent(SharedPage node) const { return nodes[node].parent; }
  /// Pages from the text's start to the node.
  int64_t depth(SharedPage node) const;
  /// Fills `path` with the nodes from the text's start to `node`, which has
  /// path.size() of them.
  void pathTo(SharedPage node, std::span<SharedPage> path) const;

  struct Insertion {
    SharedPage node = root;
    bool isNew = false; ///< else it was known
  };
  /// The node of a page of tokens behind `parent`, which is in use or the root,
  /// in a text of this scope. There is room as long as there are fewer nodes
  /// than pages.
  Insertion insert(SharedPage parent, std::span<const int32_t> page,
                   uint64_t scope = 0);

  /// The node is in use, once more. O(depth), mostly O(1).
  void pin(SharedPage node);
  void unpin(SharedPage node);

  /// Takes out the node that was not in use for longest; none: all are.
  std::optional<SharedPage> evict();

  int64_t size() const { return nodesHeld; }
  /// Nodes that evict() could take out, one after the other.
  int64_t evictable() const { return nodesIdle; }

private:
  struct Node {
    SharedPage parent = root;
    int32_t depth = 0;
    /// Pins, and children with holders.
    int32_t holders = 0;
    uint64_t scope = 0;
    uint64_t hash = 0;
    SharedPage nextInBucket = root;
    /// Among those without holders, by last use.
    SharedPage older = root, newer = root;
  };

  static uint64_t hashOf(SharedPage parent, std::span<const int32_t> page,
                         uint64_t scope);
  SharedPage child(SharedPage parent, std::span<const int32_t> page,
                   uint64_t scope, uint64_t hash) const;
  std::span<const int32_t> tokensOf(SharedPage node) const;
  SharedPage &bucketOf(uint64_t hash) { return buckets[hash & mask]; }
  void addToIdle(SharedPage node);
  void takeFromIdle(SharedPage node);

  std::vector<Node> nodes;         ///< [page]
  std::vector<int32_t> tokens;     ///< tokens[page][pageTokens]
  std::vector<SharedPage> unused;  ///< numbers without a node, as a stack
  std::vector<SharedPage> buckets; ///< [hash & mask]: the first node
  uint64_t mask;
  SharedPage oldest = root, newest = root; ///< of those without holders
  int64_t nodesHeld = 0, nodesIdle = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_PREFIXTREE_H
