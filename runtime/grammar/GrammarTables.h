//===- GrammarTables.h - a compiled grammar -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of a compiled grammar, as the matcher reads them. Internal to
// runtime/grammar.
//
// States are numbered over all rules. State 0 stands for the end of the text
// and has no edges. A rule that can begin with another rule has a lower number
// than that rule.
//
// A counted rule has a count besides its state: of repetitions, or of the
// characters of a string. Some of its edges add one, and it may end while the
// count is within its bounds. Each of its states lists the counts from which
// such an end can be reached, so that no text leads where there is no end.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARTABLES_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARTABLES_H

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::grammar {

/// Immutable once made, then thread-safe.
struct GrammarTables {
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  /// The state after the whole text has been matched.
  static constexpr uint32_t textEnd = 0;
  /// Set in the target of an edge of a counted rule that adds one to the count.
  static constexpr uint32_t countBit = uint32_t(1) << 31;
  /// The `max` of a counted rule without an upper bound.
  static constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

  enum Flags : uint8_t {
    Accepting = 1, ///< the rule may end here
    Final = 2,     ///< the state has no edge and no call
    Counted = 4,   ///< the state is in a counted rule
    Dense = 8,     ///< `edges` is the number of a row
  };
  struct State {
    /// The index of its first range in `ranges`, or of its row in `rows`.
    uint32_t edges;
    uint32_t calls; ///< the index of its first call in `callList`
    uint32_t callCount;
    /// For a counted rule: the index of its first range in `countRanges`.
    uint32_t counts;
    uint32_t rangeCount;
    uint32_t rule;
    uint16_t edgeCount;
    uint8_t flags;
  };
  struct Range {
    uint8_t low;
    uint8_t high;
    uint32_t target;
  };
  struct Call {
    uint32_t rule;
    uint32_t target; ///< where the caller continues
  };
  /// The counts from `min` to `max`.
  struct CountRange {
    uint32_t min;
    uint32_t max;
  };
  struct Rule {
    uint32_t start;
    /// The bounds of a counted rule. Without an upper bound, the count stays at
    /// `min`.
    uint32_t min;
    uint32_t max;
    uint32_t bounds; ///< the index of its first bound in `countBounds`
    uint32_t boundCount;
    /// The bytes with which the rule can begin.
    std::bitset<256> first;
  };
  using Row = std::array<uint32_t, 256>;

  std::vector<State> states;
  std::vector<Range> ranges;
  std::vector<Row> rows; ///< [byte]: a target, or none
  std::vector<Call> callList;
  std::vector<Rule> rules;
  /// For each state, the counts with which its rule can go on from it and then
  /// end. They are sorted and do not touch.
  std::vector<CountRange> countRanges;
  /// For each rule, the sorted counts at which one of its states behaves
  /// differently than at the count before.
  std::vector<uint32_t> countBounds;
  uint32_t root = 0;
  bool rootNullable = false;

  /// Returns where `byte` leads from `state` within its rule, or none.
  uint32_t target(const State &state, uint8_t byte) const {
    if (state.flags & Dense)
      return rows[state.edges][byte];
    for (uint32_t i = state.edges, end = i + state.edgeCount; i < end; ++i)
      if (ranges[i].low <= byte && byte <= ranges[i].high)
        return ranges[i].target;
    return none;
  }

  /// Returns whether a byte can follow with this count, in a counted rule.
  bool goesOn(const State &state, uint32_t count) const {
    const CountRange *first = countRanges.data() + state.counts;
    const CountRange *range = std::partition_point(
        first, first + state.rangeCount,
        [&](CountRange range) { return range.max < count; });
    return range != first + state.rangeCount && range->min <= count;
  }
  /// Returns whether a counted rule may end with this count.
  bool mayEnd(const State &state, uint32_t count) const {
    const Rule &rule = rules[state.rule];
    return state.flags & Accepting && rule.min <= count && count <= rule.max;
  }

  /// The edge of a state for a byte, and the count after it.
  struct Move {
    uint32_t target; ///< or none
    uint32_t count;
  };
  Move move(const State &state, uint32_t count, uint8_t byte) const {
    uint32_t to = target(state, byte);
    if (to == none || !(state.flags & Counted))
      return {to, count};
    const Rule &rule = rules[state.rule];
    // Without an upper bound, counting stops at the lower bound.
    if (to & countBit && (rule.max != unbounded || count < rule.min))
      ++count;
    const State &next = states[to &= ~countBit];
    if (!goesOn(next, count) && !mayEnd(next, count))
      return {none, count};
    return {to, count};
  }

  /// The counts around `count` with which the states of a rule all behave
  /// alike: from `first` to before `end`. For the last stretch, `end` is beyond
  /// all counts.
  struct Stretch {
    uint32_t first;
    uint64_t end;
  };
  Stretch stretchOf(const Rule &rule, uint32_t count) const {
    const uint32_t *first = countBounds.data() + rule.bounds;
    const uint32_t *last = first + rule.boundCount;
    const uint32_t *bound = std::upper_bound(first, last, count);
    return {bound == first ? 0 : bound[-1],
            bound == last ? std::numeric_limits<uint64_t>::max() : *bound};
  }
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARTABLES_H
