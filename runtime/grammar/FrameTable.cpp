//===- FrameTable.cpp - the stack of a match ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/FrameTable.h"

#include <algorithm>

using namespace sluice::grammar;

uint64_t FrameTable::hashOf(std::span<const Edge> edges) {
  uint64_t hash = edges.size();
  for (Edge edge : edges) {
    hash ^= static_cast<uint64_t>(edge.state) << 32 | edge.parent;
    hash *= 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

uint32_t FrameTable::find(std::span<const Edge> edges, uint64_t hash) const {
  for (uint32_t frame = buckets[hash & (buckets.size() - 1)]; frame != none;
       frame = slots[frame].chain) {
    if (slots[frame].hash != hash)
      continue;
    uint32_t at = frame;
    size_t i = 0;
    while (at != none && i < edges.size() && slots[at].edge == edges[i]) {
      at = slots[at].next;
      ++i;
    }
    if (at == none && i == edges.size())
      return frame;
  }
  return none;
}

uint32_t FrameTable::takeSlot() {
  if (freeSlot == none) {
    slots.emplace_back();
    return static_cast<uint32_t>(slots.size() - 1);
  }
  uint32_t slot = freeSlot;
  freeSlot = slots[slot].next;
  return slot;
}

uint32_t FrameTable::insert(std::span<const Edge> edges, uint64_t hash,
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

void FrameTable::grow() {
  std::vector<uint32_t> old(buckets.size() * 2, none);
  old.swap(buckets);
  for (uint32_t frame : old)
    while (frame != none) {
      uint32_t following = slots[frame].chain;
      uint32_t &bucket = buckets[slots[frame].hash & (buckets.size() - 1)];
      slots[frame].chain = bucket;
      bucket = frame;
      frame = following;
    }
}

void FrameTable::unlink(uint32_t frame) {
  uint32_t *at = &buckets[slots[frame].hash & (buckets.size() - 1)];
  while (*at != frame)
    at = &slots[*at].chain;
  *at = slots[frame].chain;
  --count;
}

void FrameTable::release(uint32_t frame) {
  uint32_t dying = none; // chained as they were in their buckets
  auto letGo = [&](uint32_t each) {
    if (--slots[each].references > 0)
      return;
    unlink(each);
    slots[each].chain = dying;
    dying = each;
  };
  letGo(frame);
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

void FrameTable::clear() {
  slots.clear();
  std::fill(buckets.begin(), buckets.end(), none);
  freeSlot = none;
  count = 0;
}
