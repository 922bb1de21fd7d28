//===- Determinizer.h - makes the automata of rules deterministic ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the nondeterministic automata of a GrammarBuilder to deterministic
// ones: each state has at most one edge for a byte and one for a rule. Internal
// to runtime/grammar.
//
// A rule that matches the empty text is never entered to match it; its caller
// can step over the call instead. So a call always reads at least one byte.
// This keeps the matcher's stacks simple: an entry is complete before anything
// returns to it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_DETERMINIZER_H
#define SLUICE_RUNTIME_GRAMMAR_DETERMINIZER_H

#include "runtime/base/Status.h"
#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/GrammarBuilder.h"

#include <span>
#include <vector>

namespace sluice::grammar {

/// The rules of a grammar as deterministic automata, which share the arrays.
struct RuleAutomata {
  struct Edge {
    uint8_t low;
    uint8_t high;
    bool counts; ///< this edge adds one to the count
    uint32_t target;
  };
  struct Call {
    RuleId rule;
    uint32_t target;
  };
  struct State {
    uint32_t firstEdge;
    uint32_t edgeCount;
    uint32_t firstCall;
    uint32_t callCount;
    bool accepting;
  };

  /// The bytes of the arrays, held by the meter of determinize().
  HeldBytes held;
  /// The states of a rule are adjacent, its start first.
  std::vector<State> states;
  /// The edges of a state are disjoint and sorted by byte.
  std::vector<Edge> edges;
  /// The calls of a state are sorted by rule, at most one for each rule.
  std::vector<Call> calls;
  std::vector<uint32_t> firstState; ///< [rule], and the end of the last rule
  std::vector<bool> nullable; ///< [rule]: whether it matches the empty text
  /// [rule]: whether the rule can be a counted rule. It must call no rule, and
  /// the count at a state must not depend on how the text is read.
  std::vector<bool> countable;

  std::span<const Edge> edgesOf(uint32_t state) const {
    return {edges.data() + states[state].firstEdge, states[state].edgeCount};
  }
  std::span<const Call> callsOf(uint32_t state) const {
    return {calls.data() + states[state].firstCall, states[state].callCount};
  }
};

/// Makes the automata. Errors: a grammar has more states than allowed, the work
/// takes more than `maxSteps` steps, or the meter ends the work.
Expected<RuleAutomata> determinize(const GrammarBuilder &builder,
                                   WorkMeter &meter,
                                   size_t maxSteps = WorkMeter::unlimited);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_DETERMINIZER_H
