//===- Determinizer.h - one way to go on for each byte --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the nondeterministic automata of a GrammarBuilder to deterministic ones:
// from each state at most one edge for a byte and one for a rule. Internal to
// runtime/grammar.
//
// A rule that can match the empty text is never entered for it: whoever calls
// it may step over it instead. So a call always reads at least one byte, which
// is what keeps the matcher's stacks simple: an entry is complete before
// anything returns to it.
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

/// The rules of a grammar as deterministic automata, all in one set of arrays.
struct RuleAutomata {
  struct Edge {
    uint8_t low;
    uint8_t high;
    bool counts; ///< one more is counted on the way
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

  HeldBytes held;            ///< of the arrays, by the meter of determinize()
  std::vector<State> states; ///< those of a rule lie together, its start first
  std::vector<Edge> edges;   ///< of a state: sorted by byte, disjoint
  std::vector<Call> calls;   ///< of a state: sorted by rule, one for each
  std::vector<uint32_t> firstState; ///< [rule], and the end of the last
  std::vector<bool> nullable;       ///< [rule]: matches the empty text
  /// [rule]: how much is counted on the way to a state does not depend on how
  /// the text is read, and no rule is called; counted rules need that.
  std::vector<bool> countable;

  std::span<const Edge> edgesOf(uint32_t state) const {
    return {edges.data() + states[state].firstEdge, states[state].edgeCount};
  }
  std::span<const Call> callsOf(uint32_t state) const {
    return {calls.data() + states[state].firstCall, states[state].callCount};
  }
};

/// Errors: more states than a grammar may have, more than `maxSteps` steps, or
/// the meter ends the work.
Expected<RuleAutomata> determinize(const GrammarBuilder &builder,
                                   WorkMeter &meter,
                                   size_t maxSteps = WorkMeter::unlimited);

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_DETERMINIZER_H
