//===- GrammarMatcher.h - runs a grammar over bytes -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a grammar's tables over bytes. Internal to runtime/grammar.
//
// All ways to read the text so far are followed at once, as a set of items: a
// state, and the entry to return to when its rule has been matched. A byte
// takes every item along an edge, or into rules that the item's state calls and
// that can begin with the byte; after it, items whose rule may end return to
// the entries' states. As rules are numbered so that callers come first (see
// GrammarTables.h), an entry's edges are all known when it is made.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARMATCHER_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARMATCHER_H

#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/GrammarTables.h"
#include "runtime/grammar/StackTable.h"

#include <cstdint>
#include <vector>

namespace sluice::grammar {

/// One way to read the text so far. The state GrammarTables::textEnd, with no
/// entry, says that the text may end here.
struct MatchItem {
  uint32_t state;
  uint32_t count; ///< what has been counted so far, of a counted rule
  uint32_t stackEntry;
  bool operator==(const MatchItem &) const = default;
};

/// Working memory of a match; keeps its room. Entries that a text holds are in
/// a table of the caller's, which is only read; those that come up on the way
/// are put into a table of its own, and have scratchBit set in their numbers.
/// Thread-compatible.
class GrammarMatcher {
public:
  static constexpr uint32_t scratchBit = uint32_t(1) << 31;

  /// From here on matches by `tables`, above the entries of `held`, and charges
  /// the meter. Forgets all items and entries of its own. The first two must
  /// stay as they are while it is used; all three outlive that.
  void attach(const GrammarTables &tables, const StackTable &held,
              WorkMeter &meter);

  /// Item sets one behind the other; the caller knows where each begins.
  std::vector<MatchItem> items;

  /// Appends to `items` those that the items from `begin` to `end` become by
  /// `byte`, and returns how many there are: 0 where the byte does not fit, or
  /// where following it would exceed a limit.
  size_t step(size_t begin, size_t end, uint8_t byte);

  /// Appends to `items` those with which a text begins.
  void start();

  /// Appends to `items` those that return from `stackEntry`.
  void returnFrom(uint32_t stackEntry);

  /// Whether so many more bytes cannot take the item's count to one with which
  /// its rule's states do something else. The count becomes the lowest with
  /// which they do the same.
  bool normalizeCount(MatchItem &item, uint32_t bytes) const;

  /// The entry with this edge alone.
  uint32_t stackEntryFor(StackTable::Edge edge);
  /// The entry below everything, from which only the end of the text follows.
  uint32_t lowestEntry();

  const StackTable::Slot &stackEntry(uint32_t stackEntry) const {
    return stackEntry & scratchBit ? scratch.slot(stackEntry & ~scratchBit)
                                   : held->slot(stackEntry);
  }
  /// Calls `body(edge)` for each edge of an entry.
  template <typename Fn> void forEachEdge(uint32_t stackEntry, Fn body) const {
    const StackTable &table = stackEntry & scratchBit ? scratch : *held;
    for (uint32_t slot = stackEntry & ~scratchBit; slot != StackTable::none;
         slot = table.slot(slot).next)
      body(table.slot(slot).edge);
  }

  /// The meter has ended the work, or step() has made more entries since
  /// attach() than one token or mask may take.
  bool exhausted() const;

private:
  struct PendingCall {
    uint32_t rule;
    StackTable::Edge edge;
  };

  bool read(MatchItem &item, uint8_t byte) const;
  void shift(MatchItem item, uint8_t byte);
  void enter(uint32_t rule, uint8_t byte);
  void addCall(uint32_t rule, StackTable::Edge edge);
  void add(MatchItem item);
  void finishRules();
  uint32_t intern();
  bool isAccepting(const MatchItem &item) const;
  bool isOver(const MatchItem &item) const;

  const GrammarTables *tables = nullptr;
  const StackTable *held = nullptr;
  WorkMeter *meter = nullptr;
  StackTable scratch;
  std::vector<PendingCall> pending; ///< a heap, the lowest rule on top
  std::vector<StackTable::Edge> edges;
  size_t first = 0; ///< of the set that is being made
  /// What is being made has come to a limit, and is given up.
  bool exceeded = false;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARMATCHER_H
