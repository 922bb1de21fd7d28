//===- GrammarBuilder.h - builds the rules of a grammar -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the rules of a grammar from GBNF or a JSON schema. Each rule is a
// nondeterministic automaton whose edges read nothing, a byte or a whole rule.
// GrammarCompiler makes the tables from it. Internal to runtime/grammar.
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
/// A state of a rule that is being built.
using BuilderState = uint32_t;

inline constexpr uint32_t noEdge = std::numeric_limits<uint32_t>::max();

/// Holds rules as nondeterministic automata. A state belongs to the rule from
/// whose start it is reached; no edge joins two rules. Everything that is added
/// charges the meter. When a limit is reached or the meter ends the work, the
/// builder ignores further additions, and full() returns true. So callers check
/// once in each loop and once at the end. Thread-compatible.
class GrammarBuilder {
public:
  enum class EdgeKind : uint8_t { Epsilon, Bytes, Call };
  struct Edge {
    BuilderState target;
    uint32_t next; ///< the next edge of the same source, or noEdge
    RuleId rule;   ///< of a Call
    EdgeKind kind;
    ByteRange bytes; ///< of Bytes
  };
  struct Rule {
    std::string name;
    BuilderState start;
    BuilderState end;
    /// Whether the rule is counted: a text of it must reach counting states
    /// `min` to `max` times. Its states carry a count when they are run, so
    /// that x{0,1000} needs no more states than x.
    bool counted = false;
    uint32_t min = 0;
    uint32_t max = 0;
  };
  /// A counted rule that repeats the states between `from` and `to`.
  struct Repetition {
    RuleId rule;
    BuilderState from;
    BuilderState to;
  };

  /// `meter` must outlive the builder.
  explicit GrammarBuilder(WorkMeter &meter, size_t maxEdges = maxBuilderEdges)
      : maxEdges(maxEdges), meter(meter), held(meter) {}

  RuleId addRule(std::string name);
  /// Adds a rule whose texts reach counting states `min` to `max` times. The
  /// rule must call no rule. After any prefix of a text, the count must be the
  /// same in whatever way the rule reads that prefix; RuleAutomata::countable
  /// says whether this holds.
  RuleId addCountedRule(std::string name, uint32_t min, uint32_t max);
  Repetition addRepetition(std::string name, uint32_t min, uint32_t max);

  BuilderState addState();
  /// Adds a state of a counted rule that adds one to the count.
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
  /// Returns the first edge of a state, or noEdge.
  uint32_t firstEdgeOf(BuilderState state) const { return firstEdge[state]; }
  const Edge &edge(uint32_t index) const { return edges[index]; }
  bool isCounting(BuilderState state) const { return counting[state]; }

private:
  void addEdge(BuilderState from, Edge edge);
  bool takes(size_t bytes);

  size_t maxEdges; ///< also the limit for states
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
