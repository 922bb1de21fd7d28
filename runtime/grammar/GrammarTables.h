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
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARTABLES_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARTABLES_H

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
  /// Set in a target: this edge ends a repetition of a counted rule.
  static constexpr uint32_t countBit = uint32_t(1) << 31;
  /// No upper bound of a counted rule.
  static constexpr uint32_t unbounded = std::numeric_limits<uint32_t>::max();

  enum Flags : uint8_t {
    Accepting = 1, ///< the rule may end here
    Final = 2,     ///< there is no edge and no call
    Counted = 4,   ///< the start of a counted rule: ends depend on the count
    Dense = 8,     ///< `edges` is a row's number
  };
  struct State {
    uint32_t edges; ///< its first in `ranges`, or its row in `rows`
    uint32_t calls; ///< its first in `callList`
    uint32_t callCount;
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
  struct Rule {
    uint32_t start;
    uint32_t least; ///< of counted rules
    uint32_t most;
    std::bitset<256> first; ///< the bytes with which it can begin
  };
  using Row = std::array<uint32_t, 256>;

  std::vector<State> states;
  std::vector<Range> ranges;
  std::vector<Row> rows; ///< [byte]: a target or none
  std::vector<Call> callList;
  std::vector<Rule> rules;
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
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARTABLES_H
