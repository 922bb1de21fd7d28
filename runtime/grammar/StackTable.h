//===- StackTable.h - the stack of a match --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stack of a grammar's rules. An entry says where to go on when a rule has
// been matched: in a state, with an entry below. Where a text can be read in
// several ways, an entry can have more than one such edge, and many entries can
// share one below, so that the ways share what they have in common; this is the
// graph-structured stack of Tomita's parsers ("An Efficient
// Augmented-Context-Free Parsing Algorithm", 1987). Equal entries are one and
// the same, so that two ways that have come to the same point are one way.
// Internal to runtime/grammar.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_STACKTABLE_H
#define SLUICE_RUNTIME_GRAMMAR_STACKTABLE_H

#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace sluice::grammar {

/// Entries in one array, found by what they hold. Slots of released entries are
/// used again: once it has grown to what a text needs, it allocates no more.
/// Thread-compatible.
class StackTable {
public:
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();

  struct Edge {
    uint32_t state;
    uint32_t parent; ///< an entry, or none below the lowest one
    auto operator<=>(const Edge &) const = default;
  };
  /// An entry is its first edge's slot; the others are chained to it.
  struct Slot {
    Edge edge;
    uint32_t next;  ///< the entry's next edge, or none
    uint32_t chain; ///< the next entry of the same bucket, or none
    uint32_t references;
    uint32_t depth; ///< entries below it, in the highest stack
    uint64_t hash;
  };

  StackTable() : buckets(64, none) {}

  /// The entry with exactly these edges, which are sorted and differ, or none.
  uint32_t find(std::span<const Edge> edges, uint64_t hash) const;
  /// Adds it; it is not there yet. It has no references.
  uint32_t insert(std::span<const Edge> edges, uint64_t hash, uint32_t depth);

  static uint64_t hashOf(std::span<const Edge> edges);

  const Slot &slot(uint32_t index) const { return slots[index]; }

  void addReference(uint32_t stackEntry) { ++slots[stackEntry].references; }
  /// Takes a reference away; an entry without any goes, and with it its
  /// references to those below. Allocates nothing.
  void release(uint32_t stackEntry);

  /// Entries that are held.
  size_t size() const { return count; }

  /// Edges for which it has room.
  size_t room() const { return slots.size(); }

  /// Forgets all entries, whatever references they have, and keeps the room.
  void clear();

private:
  uint32_t takeSlot();
  void unlink(uint32_t stackEntry);
  void grow();

  std::vector<Slot> slots;
  std::vector<uint32_t> buckets; ///< a power of two
  uint32_t freeSlot = none;      ///< chained by `next`
  size_t count = 0;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_STACKTABLE_H
