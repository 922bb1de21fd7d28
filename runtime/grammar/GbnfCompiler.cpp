//===- GbnfCompiler.cpp - GBNF rules as automata --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From expressions to automata. Small rules are put in place of references to
// them: what is within one rule becomes deterministic, so that fewer ways to
// read a text have to be followed at once, and fewer entries come and go.
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

/// Rules up to this size are put in place of references to them.
constexpr uint64_t maxInlined = 32;
/// Repetitions past this number are counted, where they can be.
constexpr uint32_t maxUnrolled = 16;

/// Which rules are put in place of a reference. The order of a depth-first
/// search decides between rules that refer to each other: a rule takes in only
/// rules that were finished before it, which cannot go on for ever.
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

  /// About how many states the expression takes, within `rule`; stops to count
  /// where it is too large anyway.
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
  std::vector<uint32_t> finished; // [rule]: its number in that order
  std::vector<uint64_t> sizes;    // [rule], once it is finished
  uint32_t count = 0;
};

class Compiler {
public:
  Compiler(const GbnfGrammar &grammar, WorkMeter &meter)
      : grammar(grammar), meter(meter), plan(grammar), builder(meter) {}

  Expected<GrammarTables> run() {
    for (const GbnfGrammar::Rule &rule : grammar.rules)
      builder.addRule(rule.name);
    for (current = 0; current < grammar.rules.size(); ++current)
      lower(builder, grammar.rules[current].body, builder.start(current),
            builder.end(current));
    if (Status ended = meter.status(); !ended.ok())
      return ended;
    return compileGrammar(builder, grammar.root, meter);
  }

private:
  /// Puts the expression between two states of `into`: adds edges out of `from`
  /// and into `to`, never the other way round.
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

  /// The counted rule of a repetition, which is of `current`: one for all the
  /// places to which an outer repetition copies it.
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

  /// Whether a counted rule can have this body, which is one of `current`.
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

  /// Whether something of the expression, within `rule`, is not put in place;
  /// true where the work must end.
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
  uint32_t current = 0; // the rule whose body is at hand
  std::unordered_map<ExpressionId, bool> counted; // of canBeCounted()
  std::unordered_map<ExpressionId, RuleId> countedRules;
  bool inCounted = false; // such a rule calls no other
};

} // namespace

Expected<GrammarTables> sluice::grammar::compileGbnf(const GbnfGrammar &grammar,
                                                     WorkMeter &meter) {
  return Compiler(grammar, meter).run();
}
