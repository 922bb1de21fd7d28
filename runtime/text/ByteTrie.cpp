//===- ByteTrie.cpp - a trie that finds tokens in a text ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/text/ByteTrie.h"

using namespace sluice::text;

void ByteTrie::grow() {
  std::vector<Edge> old = std::move(edges);
  edges.assign(old.size() * 2, Edge());
  for (const Edge &edge : old)
    if (edge.key != 0)
      edges[findEdge(edge.key)] = edge;
}

void ByteTrie::insert(std::string_view key, TokenId value) {
  uint32_t node = root;
  for (char c : key) {
    auto byte = static_cast<uint8_t>(c);
    uint32_t next = child(node, byte);
    if (next == none) {
      next = static_cast<uint32_t>(values.size());
      values.push_back(-1);
      if (values.size() * 2 > edges.size())
        grow();
      if (node == root)
        firstChild[byte] = next;
      else
        edges[findEdge(keyOf(node, byte))] = {keyOf(node, byte), next};
    }
    node = next;
  }
  if (values[node] < 0)
    values[node] = value;
}
