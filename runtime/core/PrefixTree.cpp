//===- PrefixTree.cpp - a radix tree of pinned prefixes -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PrefixTree.h"

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace sluice {

namespace {
constexpr int64_t pageTokens = CachePages::pageTokens;
}

PrefixTree::PrefixTree(int64_t pages)
    : nodes(static_cast<size_t>(pages)),
      tokens(static_cast<size_t>(pages * pageTokens)),
      buckets(std::bit_ceil(static_cast<uint64_t>(2 * pages + 1)), root),
      mask(buckets.size() - 1) {
  unused.reserve(static_cast<size_t>(pages));
  for (int64_t page = pages - 1; page >= 0; --page)
    unused.push_back(static_cast<SharedPage>(page));
}

/// Hashes a page and its parent: two tokens at a time, with splitmix64's mixing
/// at the end.
uint64_t PrefixTree::hashOf(SharedPage parent, std::span<const int32_t> page,
                            uint64_t scope) {
  static_assert(pageTokens % 2 == 0);
  uint64_t hash = static_cast<uint64_t>(int64_t{parent}) ^ scope;
  for (size_t i = 0; i < page.size(); i += 2) {
    uint64_t pair = static_cast<uint32_t>(page[i]) |
                    static_cast<uint64_t>(static_cast<uint32_t>(page[i + 1]))
                        << 32;
    hash = (hash ^ pair) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
  return hash ^ (hash >> 31);
}

std::span<const int32_t> PrefixTree::tokensOf(SharedPage node) const {
  return std::span(tokens).subspan(static_cast<size_t>(node * pageTokens),
                                   pageTokens);
}

SharedPage PrefixTree::child(SharedPage parent, std::span<const int32_t> page,
                             uint64_t scope, uint64_t hash) const {
  SharedPage at = buckets[hash & mask];
  while (at != root &&
         (nodes[at].hash != hash || nodes[at].parent != parent ||
          nodes[at].scope != scope || !std::ranges::equal(tokensOf(at), page)))
    at = nodes[at].nextInBucket;
  return at;
}

SharedPage PrefixTree::find(std::span<const int32_t> text, int64_t max,
                            uint64_t scope) const {
  int64_t pages = std::min(max, std::ssize(text) / pageTokens);
  SharedPage at = root;
  for (int64_t index = 0; index < pages; ++index) {
    std::span<const int32_t> page =
        text.subspan(static_cast<size_t>(index * pageTokens), pageTokens);
    SharedPage next = child(at, page, scope, hashOf(at, page, scope));
    if (next == root)
      break;
    at = next;
  }
  return at;
}

int64_t PrefixTree::depth(SharedPage node) const {
  return node == root ? 0 : nodes[node].depth;
}

void PrefixTree::pathTo(SharedPage node, std::span<SharedPage> path) const {
  assert(std::ssize(path) == depth(node));
  for (size_t remaining = path.size(); remaining > 0; --remaining) {
    path[remaining - 1] = node;
    node = nodes[node].parent;
  }
}

PrefixTree::Insertion PrefixTree::insert(SharedPage parent,
                                         std::span<const int32_t> page,
                                         uint64_t scope) {
  assert(std::ssize(page) == pageTokens);
  assert((parent == root || nodes[parent].holders > 0) &&
         "it could be evicted before what is behind it");
  uint64_t hash = hashOf(parent, page, scope);
  if (SharedPage known = child(parent, page, scope, hash); known != root)
    return {known, false};
  assert(!unused.empty() && "more nodes than pages");
  SharedPage number = unused.back();
  unused.pop_back();
  std::copy(page.begin(), page.end(), tokens.begin() + number * pageTokens);
  Node &node = nodes[number];
  node = {};
  node.parent = parent;
  node.depth = static_cast<int32_t>(depth(parent)) + 1;
  node.scope = scope;
  node.hash = hash;
  node.nextInBucket = std::exchange(bucketOf(hash), number);
  ++nodesHeld;
  addToIdle(number);
  return {number, true};
}

void PrefixTree::pin(SharedPage node) {
  while (node != root && nodes[node].holders++ == 0) {
    takeFromIdle(node);
    node = nodes[node].parent;
  }
}

void PrefixTree::unpin(SharedPage node) {
  while (node != root) {
    assert(nodes[node].holders > 0);
    if (--nodes[node].holders > 0)
      return;
    addToIdle(node);
    node = nodes[node].parent;
  }
}

std::optional<SharedPage> PrefixTree::evict() {
  if (oldest == root)
    return std::nullopt;
  SharedPage gone = oldest;
  takeFromIdle(gone);
  SharedPage *link = &bucketOf(nodes[gone].hash);
  while (*link != gone)
    link = &nodes[*link].nextInBucket;
  *link = nodes[gone].nextInBucket;
  unused.push_back(gone);
  --nodesHeld;
  return gone;
}

void PrefixTree::addToIdle(SharedPage node) {
  nodes[node].older = newest;
  nodes[node].newer = root;
  (newest == root ? oldest : nodes[newest].newer) = node;
  newest = node;
  ++nodesIdle;
}

void PrefixTree::takeFromIdle(SharedPage node) {
  Node &out = nodes[node];
  (out.older == root ? oldest : nodes[out.older].newer) = out.newer;
  (out.newer == root ? newest : nodes[out.newer].older) = out.older;
  --nodesIdle;
}

} // namespace sluice
