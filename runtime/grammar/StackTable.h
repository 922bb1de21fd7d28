//===- StackTable.h - the stacks of a match -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The stacks of rules during a match. An entry says where to continue after a
// rule has been matched: in a state, with an entry below. If a text can be read
// in several ways, an entry can have several such edges, and many entries can
// share one below, so that the ways share what they have in common. This is the
// graph-structured stack of Tomita's parsers ("An Efficient
// Augmented-Context-Free Parsing Algorithm", 1987). Equal entries are stored
// once, so two ways that reach the same point become one. Internal to
// runtime/grammar.
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

/// Stores entries in one array, and finds them by their content. Slots of
/// released entries are reused, so a table that has grown to what a text needs
/// allocates no more. Thread-compatible.
class StackTable {
public:
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();

  struct Edge {
    uint32_t state;
    uint32_t parent; ///< an entry, or none below the lowest one
    auto operator<=>(const Edge &) const = default;
  };
  /// One edge. An entry is the slot of its first edge; its other edges are
  /// chained to that.
  struct Slot {
    Edge edge;
    uint32_t next;  ///< the entry's next edge, or none
    uint32_t chain; ///< the next entry of the same bucket, or none
    uint32_t references;
    uint32_t depth; ///< how many entries are below it in the highest stack
    uint64_t hash;
  };

  StackTable() : buckets(64, none) {}

  /// Returns the entry with exactly these edges, which are sorted and differ,
  /// or none.
  uint32_t find(std::span<const Edge> edges, uint64_t hash) const;
  /// Adds an entry, which must not exist yet. It has no references.
  uint32_t insert(std::span<const Edge> edges, uint64_t hash, uint32_t depth);

  static uint64_t hashOf(std::span<const Edge> edges);

  const Slot &slot(uint32_t index) const { return slots[index]; }

  void addReference(uint32_t stackEntry) { ++slots[stackEntry].references; }
  /// Removes a reference. An entry without references is freed, and its
  /// references to entries below are released. Allocates nothing.
  void release(uint32_t stackEntry);

  /// Returns the number of entries that are held.
  size_t size() const { return count; }

  /// Returns for how many edges there is room.
  size_t room() const { return slots.size(); }

  /// Frees all entries, whatever references they have, and keeps the capacity.
  void clear();

private:
  uint32_t takeSlot();
  void unlink(uint32_t stackEntry);
  void grow();

  std::vector<Slot> slots;
  std::vector<uint32_t> buckets; ///< the size is a power of two
  uint32_t freeSlot = none;      ///< chained by `next`
  size_t count = 0;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_STACKTABLE_H
