//===- ByteTrie.h - a trie that finds tokens in a text --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_BYTETRIE_H
#define SLUICE_RUNTIME_TEXT_BYTETRIE_H

#include "runtime/text/TokenizerSpec.h"

#include <array>
#include <bit>
#include <string_view>

namespace sluice::text {

/// A trie over bytes whose edges lie in one hash table. Thread-safe once
/// filled.
class ByteTrie {
public:
  static constexpr uint32_t root = 0;
  static constexpr uint32_t none = UINT32_MAX;

  ByteTrie() : edges(64), values(1, -1) { firstChild.fill(none); }

  /// Gives `key`, which is not empty, the value `value`, which is not negative.
  /// A key that is already there keeps its first value.
  void insert(std::string_view key, TokenId value);

  /// Returns the child of `node` along the edge `byte`, or none.
  uint32_t child(uint32_t node, uint8_t byte) const {
    if (node == root)
      return firstChild[byte];
    return edges[findEdge(keyOf(node, byte))].node;
  }

  /// Returns the value of the key that ends at `node`; -1 if none does.
  TokenId value(uint32_t node) const { return values[node]; }

  bool empty() const { return values.size() == 1; }

private:
  struct Edge {
    uint64_t key = 0; // 0 if free; the root's edges are not in the table
    uint32_t node = none;
  };
  static uint64_t keyOf(uint32_t node, uint8_t byte) {
    return static_cast<uint64_t>(node) << 8 | byte;
  }
  size_t findEdge(uint64_t key) const {
    size_t mask = edges.size() - 1;
    size_t slot = key * 0x9E3779B97F4A7C15 >> (64 - std::countr_one(mask));
    while (edges[slot].key != 0 && edges[slot].key != key)
      slot = (slot + 1) & mask;
    return slot;
  }
  void grow();

  std::array<uint32_t, 256> firstChild;
  std::vector<Edge> edges; // the size is a power of two, at least half free
  std::vector<TokenId> values;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_BYTETRIE_H
