//===- GrammarMatcher.h - runs a grammar over bytes -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a grammar's tables over bytes. Internal to runtime/grammar.
//
// The matcher follows all ways of reading the text so far at once, as a set of
// items. An item is a state, and the stack entry to return to when its rule has
// been matched. A byte takes every item along an edge, or into rules that the
// item's state calls and that can begin with the byte. After the byte, items
// whose rule may end return to the states of their entries. Rules are numbered
// so that callers come first (see GrammarTables.h), so all edges of an entry
// are known when it is made.
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARMATCHER_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARMATCHER_H

#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/GrammarTables.h"
#include "runtime/grammar/StackTable.h"

#include <cstdint>
#include <vector>

namespace sluice::grammar {

/// One way to read the text so far. The state GrammarTables::textEnd, without
/// an entry, says that the text may end here.
struct MatchItem {
  uint32_t state;
  uint32_t count; ///< the count so far, in a counted rule
  uint32_t stackEntry;
  bool operator==(const MatchItem &) const = default;
};

/// The working memory of a match, which keeps its capacity. Entries that belong
/// to a text are in the caller's table, which is only read. Entries that arise
/// during the match are in a table of the matcher; their numbers have
/// scratchBit set. Thread-compatible.
class GrammarMatcher {
public:
  static constexpr uint32_t scratchBit = uint32_t(1) << 31;

  /// Starts a match by `tables` above the entries of `held`, which charges the
  /// meter. Forgets all items and all entries of its own. `tables` and `held`
  /// must not change during the match; all three must outlive it.
  void attach(const GrammarTables &tables, const StackTable &held,
              WorkMeter &meter);

  /// Sets of items, one after the other. The caller knows where each begins.
  std::vector<MatchItem> items;

  /// Appends the items that follow from those in [begin, end) by `byte`, and
  /// returns their number. It is 0 if the byte does not fit, or if following it
  /// would exceed a limit.
  size_t step(size_t begin, size_t end, uint8_t byte);

  /// Appends the items with which a text begins.
  void start();

  /// Appends the items that return from `stackEntry`.
  void returnFrom(uint32_t stackEntry);

  /// Returns whether `bytes` more bytes cannot take the item's count to one at
  /// which the states of its rule behave differently. If so, sets the count to
  /// the lowest one with which they behave the same.
  bool normalizeCount(MatchItem &item, uint32_t bytes) const;

  /// Returns the entry that has only this edge.
  uint32_t stackEntryFor(StackTable::Edge edge);
  /// Returns the lowest entry, from which only the end of the text follows.
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

  /// Returns whether the meter has ended the work, or step() has made more
  /// entries since attach() than one token or mask may take.
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
  std::vector<PendingCall> pending; ///< a heap, with the lowest rule on top
  std::vector<StackTable::Edge> edges;
  size_t first = 0; ///< the begin of the set that is being made
  /// The set that is being made has reached a limit and is given up.
  bool exceeded = false;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARMATCHER_H
