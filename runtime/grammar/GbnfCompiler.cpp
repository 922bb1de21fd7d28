//===- GbnfCompiler.cpp - compiles GBNF rules to automata -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts expressions to automata. References to small rules are inlined. What
// is inside one rule becomes deterministic, so fewer ways of reading a text
// have to be followed at once, and fewer stack entries are made.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Determinizer.h"
#include "runtime/grammar/Gbnf.h"
#include "runtime/grammar/GrammarCompiler.h"
#include "runtime/grammar/GrammarLimits.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

using namespace sluice;
using namespace sluice::grammar;

namespace {

static_assert(ExpressionTree::unbounded == GrammarTables::unbounded);

using Kind = ExpressionTree::Kind;
using Node = ExpressionTree::Node;

/// The largest rule that is inlined.
constexpr uint64_t maxInlined = 32;
/// Repetitions of more than this number are counted if possible.
constexpr uint32_t maxUnrolled = 16;

/// Decides which rules are inlined. Between rules that refer to each other, the
/// order of a depth-first search decides: a rule inlines only rules that were
/// finished before it, so inlining ends.
class InlinePlan {
public:
  explicit InlinePlan(const GbnfGrammar &grammar)
      : grammar(grammar), finished(grammar.rules.size(), none),
        sizes(grammar.rules.size(), 0) {
    std::vector<bool> entered(grammar.rules.size());
    for (uint32_t rule = 0; rule < grammar.rules.size(); ++rule)
      if (!entered[rule])
        visit(rule, entered);
  }

  bool inlines(uint32_t into, uint32_t rule) const {
    return finished[rule] < finished[into] && sizes[rule] <= maxInlined;
  }

private:
  static constexpr uint32_t none = UINT32_MAX;

  void visit(uint32_t from, std::vector<bool> &entered) {
    struct Step {
      uint32_t rule;
      std::vector<uint32_t> references;
    };
    std::vector<Step> path;
    auto enter = [&](uint32_t rule) {
      entered[rule] = true;
      path.push_back({rule, {}});
      collect(grammar.rules[rule].body, path.back().references);
    };
    enter(from);
    while (!path.empty()) {
      std::vector<uint32_t> &references = path.back().references;
      if (references.empty()) {
        uint32_t rule = path.back().rule;
        finished[rule] = count++;
        sizes[rule] = 1 + sizeOf(rule, grammar.rules[rule].body);
        path.pop_back();
        continue;
      }
      uint32_t next = references.back();
      references.pop_back();
      if (!entered[next])
        enter(next);
    }
  }

  void collect(ExpressionId id, std::vector<uint32_t> &references) const {
    const Node &node = grammar.expressions[id];
    if (node.kind == Kind::Reference)
      references.push_back(node.rule);
    for (ExpressionId part : node.parts)
      collect(part, references);
  }

  /// Returns about how many states the expression takes inside `rule`. Stops
  /// counting when it is too large anyway.
  uint64_t sizeOf(uint32_t rule, ExpressionId id) const {
    const Node &node = grammar.expressions[id];
    switch (node.kind) {
    case Kind::Characters:
      return 1 + node.set.ranges().size();
    case Kind::Literal:
      return 1 + node.text.size();
    case Kind::Reference:
      return inlines(rule, node.rule) ? sizes[node.rule] : 1;
    case Kind::Repeat: {
      uint64_t times = std::max<uint64_t>(
          {1, node.min, node.max == ExpressionTree::unbounded ? 0 : node.max});
      return times * std::min(sizeOf(rule, node.parts[0]), maxInlined + 1);
    }
    case Kind::Sequence:
    case Kind::Choice:
      break;
    }
    uint64_t size = 1;
    for (ExpressionId part : node.parts)
      size += std::min(sizeOf(rule, part), maxInlined + 1);
    return size;
  }

  const GbnfGrammar &grammar;
  // [rule]: its number in the order of the search.
  std::vector<uint32_t> finished;
  std::vector<uint64_t> sizes; // [rule], set once it is finished
  uint32_t count = 0;
};

class Compiler {
public:
  Compiler(const GbnfGrammar &grammar, WorkMeter &meter)
      : grammar(grammar), meter(meter), plan(grammar), builder(meter) {}

  Expected<GrammarTables> run() {
    for (const GbnfGrammar::Rule &rule : grammar.rules)
      builder.addRule(rule.name);
    // A builder that is full has not all of the rules.
    for (current = 0; current < grammar.rules.size() && !builder.full();
         ++current)
      lower(builder, grammar.rules[current].body, builder.start(current),
            builder.end(current));
    SLUICE_RETURN_IF_ERROR(meter.status());
    return compileGrammar(builder, grammar.root, meter);
  }

private:
  /// Puts the expression between two states of `into`. Only adds edges out of
  /// `from` and into `to`.
  void lower(GrammarBuilder &into, ExpressionId id, BuilderState from,
             BuilderState to) {
    if (!meter.charge())
      return;
    const Node &node = grammar.expressions[id];
    switch (node.kind) {
    case Kind::Characters:
      return into.characters(from, node.set, to);
    case Kind::Literal: {
      std::string text;
      for (char32_t character : node.text)
        text::appendCodePoint(text, character);
      return into.literal(from, text, to);
    }
    case Kind::Reference:
      return lowerReference(into, node.rule, from, to);
    case Kind::Repeat:
      return lowerRepeat(into, id, from, to);
    case Kind::Sequence:
      for (ExpressionId part : node.parts) {
        BuilderState next = into.addState();
        lower(into, part, from, next);
        from = next;
      }
      return into.epsilon(from, to);
    case Kind::Choice:
      for (ExpressionId part : node.parts)
        lower(into, part, from, to);
      return;
    }
  }

  void lowerReference(GrammarBuilder &into, uint32_t rule, BuilderState from,
                      BuilderState to) {
    if (!plan.inlines(current, rule))
      return into.call(from, rule, to);
    uint32_t outer = current;
    current = rule;
    lower(into, grammar.rules[rule].body, from, to);
    current = outer;
  }

  void lowerRepeat(GrammarBuilder &into, ExpressionId id, BuilderState from,
                   BuilderState to) {
    constexpr uint32_t unbounded = ExpressionTree::unbounded;
    const Node &node = grammar.expressions[id];
    ExpressionId body = node.parts[0];
    if (std::max(node.min, node.max == unbounded ? 0 : node.max) >
            maxUnrolled &&
        &into == &builder && !inCounted && canBeCounted(body))
      return builder.call(from, countedRule(id, node), to);
    for (uint32_t i = 0; i < node.min && !into.full(); ++i) {
      BuilderState next = into.addState();
      lower(into, body, from, next);
      from = next;
    }
    if (node.max == unbounded) {
      BuilderState loop = into.addState(), again = into.addState();
      into.epsilon(from, loop);
      lower(into, body, loop, again);
      into.epsilon(again, loop);
      return into.epsilon(loop, to);
    }
    for (uint32_t i = node.min; i < node.max && !into.full(); ++i) {
      BuilderState next = into.addState();
      into.epsilon(from, to);
      lower(into, body, from, next);
      from = next;
    }
    into.epsilon(from, to);
  }

  /// Returns the counted rule of a repetition in `current`. All places to which
  /// an outer repetition copies it share one rule.
  RuleId countedRule(ExpressionId id, const Node &node) {
    auto [known, fresh] = countedRules.try_emplace(id, 0);
    if (!fresh)
      return known->second;
    GrammarBuilder::Repetition counted =
        builder.addRepetition(grammar.rules[current].name, node.min, node.max);
    known->second = counted.rule;
    bool outer = std::exchange(inCounted, true);
    lower(builder, node.parts[0], counted.from, counted.to);
    inCounted = outer;
    return counted.rule;
  }

  /// Returns whether a counted rule can have this body, which is in `current`.
  bool canBeCounted(ExpressionId body) {
    constexpr size_t maxEdges = 1024;
    auto [known, fresh] = counted.try_emplace(body, false);
    if (!fresh || counted.size() > maxTrials || callsRules(current, body))
      return known->second;
    GrammarBuilder trial(meter, maxEdges);
    GrammarBuilder::Repetition repeated = trial.addRepetition("", 1, 1);
    lower(trial, body, repeated.from, repeated.to);
    Expected<RuleAutomata> automata = determinize(trial, meter, maxTrialSteps);
    return known->second = automata && automata->countable[repeated.rule];
  }

  /// Returns whether a part of the expression, inside `rule`, is a rule that is
  /// not inlined; true if the work must end.
  bool callsRules(uint32_t rule, ExpressionId id) {
    if (!meter.charge())
      return true;
    const Node &node = grammar.expressions[id];
    if (node.kind == Kind::Reference)
      return !plan.inlines(rule, node.rule) ||
             callsRules(node.rule, grammar.rules[node.rule].body);
    return std::any_of(
        node.parts.begin(), node.parts.end(),
        [&](ExpressionId part) { return callsRules(rule, part); });
  }

  const GbnfGrammar &grammar;
  WorkMeter &meter;
  InlinePlan plan;
  GrammarBuilder builder;
  uint32_t current = 0; // the rule whose body is being compiled
  // The known results of canBeCounted().
  std::unordered_map<ExpressionId, bool> counted;
  std::unordered_map<ExpressionId, RuleId> countedRules;
  bool inCounted = false; // a counted rule calls no other rule
};

} // namespace

Expected<GrammarTables> sluice::grammar::compileGbnf(const GbnfGrammar &grammar,
                                                     WorkMeter &meter) {
  return Compiler(grammar, meter).run();
}
