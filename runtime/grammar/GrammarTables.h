//===- GrammarTables.h - a compiled grammar -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled grammar, as the matcher reads it. Internal to runtime/grammar.
//
// States are numbered over all rules; state 0 stands for the end of the text
// and has no edges. Rules are numbered so that a rule that can begin with
// another has the lower number.
//
// A counted rule has a count beside its state: of repetitions, or of a string's
// characters. Some of its edges add one, and it may end where the count is
// within its bounds. Each of its states says with which counts it can be gone
// on from to such an end, so that nobody is led to where there is none.
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

/// Immutable once made; thread-safe then.
struct GrammarTables {
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  /// The state in which the whole text has been matched.
  static constexpr uint32_t textEnd = 0;
  /// Set in a target: this edge of a counted rule adds one to the count.
  static constexpr uint32_t countBit = uint32_t(1) << 31;
  /// No upper bound of a counted rule.
  static constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

  enum Flags : uint8_t {
    Accepting = 1, ///< the rule may end here
    Final = 2,     ///< there is no edge and no call
    Counted = 4,   ///< of a counted rule
    Dense = 8,     ///< `edges` is a row's number
  };
  struct State {
    uint32_t edges; ///< its first in `ranges`, or its row in `rows`
    uint32_t calls; ///< its first in `callList`
    uint32_t callCount;
    uint32_t counts; ///< of a counted rule: its first in `countRanges`
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
    uint32_t target; ///< where the caller goes on
  };
  /// Counts from `min` to `max`.
  struct CountRange {
    uint32_t min;
    uint32_t max;
  };
  struct Rule {
    uint32_t start;
    uint32_t min; ///< of counted rules; the count stays there with no most
    uint32_t max;
    uint32_t bounds; ///< its first in `countBounds`
    uint32_t boundCount;
    std::bitset<256> first; ///< the bytes with which it can begin
  };
  using Row = std::array<uint32_t, 256>;

  std::vector<State> states;
  std::vector<Range> ranges;
  std::vector<Row> rows; ///< [byte]: a target or none
  std::vector<Call> callList;
  std::vector<Rule> rules;
  /// Of a state: the counts with which its rule can go on from it and end;
  /// sorted and apart.
  std::vector<CountRange> countRanges;
  /// Of a rule: the counts at which one of its states changes what it can do;
  /// sorted.
  std::vector<uint32_t> countBounds;
  uint32_t root = 0;
  bool rootNullable = false;

  /// Where `byte` leads from `state` within its rule, or none.
  uint32_t target(const State &state, uint8_t byte) const {
    if (state.flags & Dense)
      return rows[state.edges][byte];
    for (uint32_t i = state.edges, end = i + state.edgeCount; i < end; ++i)
      if (ranges[i].low <= byte && byte <= ranges[i].high)
        return ranges[i].target;
    return none;
  }

  /// Of a counted rule: whether a byte can follow in it with this count.
  bool goesOn(const State &state, uint32_t count) const {
    const CountRange *first = countRanges.data() + state.counts;
    const CountRange *range = std::partition_point(
        first, first + state.rangeCount,
        [&](CountRange range) { return range.max < count; });
    return range != first + state.rangeCount && range->min <= count;
  }
  /// Of a counted rule: whether it may end with this count.
  bool mayEnd(const State &state, uint32_t count) const {
    const Rule &rule = rules[state.rule];
    return state.flags & Accepting && rule.min <= count && count <= rule.max;
  }

  /// The edge of a state for a byte, with what the count becomes on it.
  struct Move {
    uint32_t target; ///< or none
    uint32_t count;
  };
  Move move(const State &state, uint32_t count, uint8_t byte) const {
    uint32_t to = target(state, byte);
    if (to == none || !(state.flags & Counted))
      return {to, count};
    const Rule &rule = rules[state.rule];
    // Without an upper bound only the lower one is counted up to.
    if (to & countBit && (rule.max != unbounded || count < rule.min))
      ++count;
    const State &next = states[to &= ~countBit];
    if (!goesOn(next, count) && !mayEnd(next, count))
      return {none, count};
    return {to, count};
  }

  /// The counts around `count` with which the states of a rule all do the same:
  /// from `first` to before `end`, which is past all counts for the last one.
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
