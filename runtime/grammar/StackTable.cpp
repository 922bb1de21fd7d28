//===- StackTable.cpp - the stacks of a match -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/StackTable.h"

#include <algorithm>

using namespace sluice::grammar;

uint64_t StackTable::hashOf(std::span<const Edge> edges) {
  uint64_t hash = edges.size();
  for (Edge edge : edges) {
    hash ^= static_cast<uint64_t>(edge.state) << 32 | edge.parent;
    hash *= 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

uint32_t StackTable::find(std::span<const Edge> edges, uint64_t hash) const {
  for (uint32_t stackEntry = buckets[hash & (buckets.size() - 1)];
       stackEntry != none; stackEntry = slots[stackEntry].chain) {
    if (slots[stackEntry].hash != hash)
      continue;
    uint32_t at = stackEntry;
    size_t i = 0;
    while (at != none && i < edges.size() && slots[at].edge == edges[i]) {
      at = slots[at].next;
      ++i;
    }
    if (at == none && i == edges.size())
      return stackEntry;
  }
  return none;
}

uint32_t StackTable::takeSlot() {
  if (freeSlot == none) {
    slots.emplace_back();
    return static_cast<uint32_t>(slots.size() - 1);
  }
  uint32_t slot = freeSlot;
  freeSlot = slots[slot].next;
  return slot;
}

uint32_t StackTable::insert(std::span<const Edge> edges, uint64_t hash,
                            uint32_t depth) {
  if (count >= buckets.size())
    grow();
  uint32_t next = none;
  for (size_t i = edges.size(); i-- > 0;) {
    uint32_t slot = takeSlot();
    slots[slot] = {.edge = edges[i],
                   .next = next,
                   .chain = none,
                   .references = 0,
                   .depth = depth,
                   .hash = hash};
    next = slot;
  }
  uint32_t &bucket = buckets[hash & (buckets.size() - 1)];
  slots[next].chain = bucket;
  bucket = next;
  ++count;
  return next;
}

void StackTable::grow() {
  std::vector<uint32_t> old(buckets.size() * 2, none);
  old.swap(buckets);
  for (uint32_t stackEntry : old)
    while (stackEntry != none) {
      uint32_t following = slots[stackEntry].chain;
      uint32_t &bucket = buckets[slots[stackEntry].hash & (buckets.size() - 1)];
      slots[stackEntry].chain = bucket;
      bucket = stackEntry;
      stackEntry = following;
    }
}

void StackTable::unlink(uint32_t stackEntry) {
  uint32_t *at = &buckets[slots[stackEntry].hash & (buckets.size() - 1)];
  while (*at != stackEntry)
    at = &slots[*at].chain;
  *at = slots[stackEntry].chain;
  --count;
}

void StackTable::release(uint32_t stackEntry) {
  uint32_t dying = none; // chained as they were in their buckets
  auto letGo = [&](uint32_t each) {
    if (--slots[each].references > 0)
      return;
    unlink(each);
    slots[each].chain = dying;
    dying = each;
  };
  letGo(stackEntry);
  while (dying != none) {
    uint32_t slot = dying;
    dying = slots[slot].chain;
    while (slot != none) {
      const uint32_t next = slots[slot].next;
      if (slots[slot].edge.parent != none)
        letGo(slots[slot].edge.parent);
      slots[slot].next = freeSlot;
      freeSlot = slot;
      slot = next;
    }
  }
}

void StackTable::clear() {
  slots.clear();
  std::fill(buckets.begin(), buckets.end(), none);
  freeSlot = none;
  count = 0;
}
