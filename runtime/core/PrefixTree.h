//===- PrefixTree.h - a radix tree of pinned prefixes ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the prefixes of texts whose keys and values are in the caches, as a
// radix tree (SGLang's RadixAttention, arXiv 2312.07104, section 3). A node is
// one full page of tokens that follows its parent's page. Its name is the
// number under which the stages pin the page. So two texts share the nodes of
// their common prefix, in whole pages.
//
//   int32_t at = tree.find(prompt, pages);    // longest known prefix
//   tree.pin(at);                             // a request uses it
//   ...
//   tree.unpin(at);
//   while (free < needed)
//     std::optional<SharedPage> gone = tree.evict();
//
// A node that a request uses stays, and so do the nodes before it. Of the other
// nodes, the least recently used one is evicted first. It never has a node
// after it, because a request that uses a node uses all nodes before it too.
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

/// The constructor allocates all memory; no later call allocates.
/// Thread-compatible.
class PrefixTree {
public:
  /// The parent of the first page of every text.
  static constexpr SharedPage root = -1;

  /// Room for `pages` pages, numbered from 0.
  explicit PrefixTree(int64_t pages);

  /// Returns the last node of the longest known prefix of `tokens` with at most
  /// `max` pages; root if none is known. Texts of different scopes share no
  /// nodes. O(pages found).
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
    bool isNew = false; ///< false if the node was known already
  };
  /// Returns the node of a page of tokens after `parent`, which must be in use
  /// or the root, in a text of this scope. There is room while there are fewer
  /// nodes than pages.
  Insertion insert(SharedPage parent, std::span<const int32_t> page,
                   uint64_t scope = 0);

  /// Adds one use of the node. O(depth), mostly O(1).
  void pin(SharedPage node);
  void unpin(SharedPage node);

  /// Removes the least recently used idle node; nothing if no node is idle.
  std::optional<SharedPage> evict();

  int64_t size() const { return nodesHeld; }
  /// Returns how many nodes evict() could remove, one after the other.
  int64_t evictable() const { return nodesIdle; }

private:
  struct Node {
    SharedPage parent = root;
    int32_t depth = 0;
    /// The number of pins plus the number of children that have holders.
    int32_t holders = 0;
    uint64_t scope = 0;
    uint64_t hash = 0;
    SharedPage nextInBucket = root;
    /// Neighbours in the list of nodes without holders, ordered by last use.
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
  SharedPage oldest = root, newest = root; ///< of the nodes without holders
  int64_t nodesHeld = 0, nodesIdle = 0;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_PREFIXTREE_H
