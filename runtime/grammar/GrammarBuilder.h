//===- GrammarBuilder.h - rules under construction ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the readers of GBNF and of JSON schemas put a grammar together: each
// rule is a nondeterministic automaton whose edges read nothing, a byte or a
// whole rule. GrammarCompiler makes the tables from it. Internal to
// runtime/grammar.
//
//   GrammarBuilder builder(meter);
//   RuleId digits = builder.addRule("digits");
//   builder.bytes(builder.start(digits), '0', '9', builder.end(digits));
//   builder.epsilon(builder.end(digits), builder.start(digits));
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_GRAMMAR_GRAMMARBUILDER_H
#define SLUICE_RUNTIME_GRAMMAR_GRAMMARBUILDER_H

#include "runtime/base/WorkMeter.h"
#include "runtime/grammar/CodePointSet.h"
#include "runtime/grammar/GrammarLimits.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::grammar {

using RuleId = uint32_t;
/// A state of a rule under construction.
using BuilderState = uint32_t;

inline constexpr uint32_t noEdge = std::numeric_limits<uint32_t>::max();

/// Rules as nondeterministic automata. A state belongs to the rule from whose
/// start it is reached: edges never join two rules. All that is added charges
/// the meter. Past its limits, and where the meter ends the work, it takes
/// nothing more and says so by full(), so that callers check once in their
/// loops and once at the end. Thread-compatible.
class GrammarBuilder {
public:
  enum class EdgeKind : uint8_t { Epsilon, Bytes, Call };
  struct Edge {
    BuilderState target;
    uint32_t next; ///< the source's next edge, or noEdge
    RuleId rule;   ///< of a Call
    EdgeKind kind;
    ByteRange bytes; ///< of Bytes
  };
  struct Rule {
    std::string name;
    BuilderState start;
    BuilderState end;
    /// Of a counted rule: how often a text of it arrives at counting states.
    /// Its states carry a number when they are run, so that x{0,1000} costs no
    /// more states than x.
    bool counted = false;
    uint32_t min = 0;
    uint32_t max = 0;
  };
  /// A counted rule that repeats what is put between `from` and `to`.
  struct Repetition {
    RuleId rule;
    BuilderState from;
    BuilderState to;
  };

  /// `meter` outlives the builder.
  explicit GrammarBuilder(WorkMeter &meter, size_t maxEdges = maxBuilderEdges)
      : maxEdges(maxEdges), meter(meter), held(meter) {}

  RuleId addRule(std::string name);
  /// A rule whose texts arrive at counting states `min` to `max` times. It
  /// must call no rule, and how often a beginning of a text arrives there must
  /// not depend on how it is read; RuleAutomata::countable says so.
  RuleId addCountedRule(std::string name, uint32_t min, uint32_t max);
  Repetition addRepetition(std::string name, uint32_t min, uint32_t max);

  BuilderState addState();
  /// A state of a counted rule at which one more is counted.
  BuilderState addCountingState();
  BuilderState start(RuleId rule) const { return ruleList[rule].start; }
  BuilderState end(RuleId rule) const { return ruleList[rule].end; }

  void epsilon(BuilderState from, BuilderState to);
  void bytes(BuilderState from, uint8_t low, uint8_t high, BuilderState to);
  void call(BuilderState from, RuleId rule, BuilderState to);
  void literal(BuilderState from, std::string_view text, BuilderState to);
  void characters(BuilderState from, const CodePointSet &set, BuilderState to);

  bool full() const { return exhausted; }

  const std::vector<Rule> &rules() const { return ruleList; }
  size_t stateCount() const { return firstEdge.size(); }
  /// The first edge out of a state, or noEdge.
  uint32_t firstEdgeOf(BuilderState state) const { return firstEdge[state]; }
  const Edge &edge(uint32_t index) const { return edges[index]; }
  bool isCounting(BuilderState state) const { return counting[state]; }

private:
  void addEdge(BuilderState from, Edge edge);
  bool takes(size_t bytes);

  size_t maxEdges; ///< and states
  WorkMeter &meter;
  HeldBytes held;
  std::vector<Rule> ruleList;
  std::vector<uint32_t> firstEdge; ///< [state]
  std::vector<bool> counting;      ///< [state]
  std::vector<Edge> edges;
  bool exhausted = false;
};

} // namespace sluice::grammar

#endif // SLUICE_RUNTIME_GRAMMAR_GRAMMARBUILDER_H
