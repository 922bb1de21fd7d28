//===- GuessTree.cpp - the guesses after the last confirmed row -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/GuessTree.h"

#include <algorithm>
#include <cassert>

namespace sluice {

GuessTree::GuessTree(int64_t capacity) : capacity(capacity) {
  assert(capacity >= 1);
  held.reserve(static_cast<size_t>(capacity));
  kept.reserve(static_cast<size_t>(capacity));
  moved.reserve(static_cast<size_t>(capacity));
}

int64_t GuessTree::launched() const {
  return std::count_if(held.begin(), held.end(), [](const GuessNode &each) {
    return each.launched && each.parentIndex >= 0;
  });
}

int64_t GuessTree::waiting() const {
  return std::count_if(held.begin(), held.end(), [](const GuessNode &each) {
    return !each.launched && each.parentIndex >= 0;
  });
}

int32_t GuessTree::find(NodeId node) const {
  auto place =
      std::find_if(held.begin(), held.end(),
                   [node](const GuessNode &each) { return each.node == node; });
  return place != held.end() ? static_cast<int32_t>(place - held.begin()) : -1;
}

int32_t GuessTree::child(int32_t parentIndex, int32_t token) const {
  for (size_t i = 0; i < held.size(); ++i)
    if (held[i].parentIndex == parentIndex && held[i].token == token)
      return static_cast<int32_t>(i);
  return -1;
}

void GuessTree::reset(NodeId node, NodeId parent, int32_t position,
                      int32_t token) {
  held.clear();
  GuessNode &root = held.emplace_back();
  root.node = node;
  root.parent = parent;
  root.position = position;
  root.token = token;
}

int32_t GuessTree::add(int32_t parentIndex, int32_t token, float confidence,
                       double chance) {
  if (static_cast<int64_t>(held.size()) == capacity)
    return -1;
  GuessNode &parent = held[static_cast<size_t>(parentIndex)];
  assert(parent.node != noNode && "the draft has not seen the parent");
  ++parent.children;
  held.push_back({.parent = parent.node,
                  .parentIndex = parentIndex,
                  .position = parent.position + 1,
                  .token = token,
                  .depth = parent.depth + 1,
                  .confidence = confidence,
                  .chance = chance,
                  .pathChance = parent.pathChance * chance});
  return static_cast<int32_t>(held.size()) - 1;
}

GuessTree::Confirmation GuessTree::confirm(int32_t token) {
  if (held.size() == 1) {
    held.clear();
    return {};
  }
  Confirmation result;
  int32_t next = child(0, token);
  if (next < 0) {
    result.died = launched();
    held.clear();
    return result;
  }
  kept.assign(held.size(), 0);
  kept[static_cast<size_t>(next)] = 1;
  for (size_t i = 1; i < held.size(); ++i) {
    if (held[i].parentIndex > 0 &&
        kept[static_cast<size_t>(held[i].parentIndex)])
      kept[i] = 1;
    result.died += held[i].launched && !kept[i];
  }
  result.found = true;
  result.launched = held[static_cast<size_t>(next)].launched;
  held[static_cast<size_t>(next)].parentIndex = -1;
  compact();
  // Computed from the root down, so that no rounding errors build up.
  held.front().pathChance = 1;
  held.front().depth = 0;
  for (size_t i = 1; i < held.size(); ++i) {
    const GuessNode &parent = held[static_cast<size_t>(held[i].parentIndex)];
    held[i].pathChance = parent.pathChance * held[i].chance;
    held[i].depth = parent.depth + 1;
  }
  return result;
}

bool GuessTree::dropWorstBelow(double pathChance) {
  size_t worst = 0;
  for (size_t i = 1; i < held.size(); ++i)
    if (!held[i].launched && held[i].children == 0 &&
        held[i].pathChance < pathChance) {
      pathChance = held[i].pathChance;
      worst = i;
    }
  if (worst == 0)
    return false;
  kept.assign(held.size(), 1);
  kept[worst] = 0;
  compact();
  return true;
}

void GuessTree::keepBest(int32_t depth, int64_t count) {
  kept.assign(held.size(), 1);
  int64_t level = 0;
  for (const GuessNode &each : held)
    level += each.depth == depth;
  for (; level > count; --level) {
    size_t worst = 0;
    for (size_t i = 1; i < held.size(); ++i)
      if (kept[i] && held[i].depth == depth &&
          (worst == 0 || held[i].pathChance < held[worst].pathChance))
        worst = i;
    kept[worst] = 0;
  }
  compact();
}

/// Removes the nodes that are not `kept` and closes the gaps.
void GuessTree::compact() {
  moved.resize(held.size());
  size_t to = 0;
  for (size_t from = 0; from < held.size(); ++from) {
    int32_t parent = held[from].parentIndex;
    if (!kept[from]) {
      if (parent >= 0 && kept[static_cast<size_t>(parent)])
        --held[static_cast<size_t>(moved[static_cast<size_t>(parent)])]
              .children;
      continue;
    }
    moved[from] = static_cast<int32_t>(to);
    if (parent >= 0)
      held[from].parentIndex = moved[static_cast<size_t>(parent)];
    held[to++] = held[from];
  }
  held.resize(to);
}

} // namespace sluice
