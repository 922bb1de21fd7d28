//===- GrammarCompiler.cpp - compiles a grammar's tables ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the deterministic automata of the rules to tables: refuses left
// recursion, finds what can lead to the end of a text and, in counted rules,
// with which counts, orders the rules, and writes the tables.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarCompiler.h"

#include "runtime/grammar/CountRanges.h"
#include "runtime/grammar/Determinizer.h"
#include "runtime/grammar/GrammarLimits.h"

#include <algorithm>
#include <cassert>
#include <map>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using CountRange = GrammarTables::CountRange;
/// The ranges of the counted rules.
using RangesByRule = std::map<RuleId, CountRanges>;

Expected<RangesByRule> findRanges(const RuleAutomata &automata,
                                  const GrammarBuilder &builder,
                                  WorkMeter &meter) {
  RangesByRule ranges;
  size_t rangeCount = 0;
  for (RuleId rule = 0; rule < builder.rules().size(); ++rule) {
    const GrammarBuilder::Rule &it = builder.rules()[rule];
    if (!it.counted)
      continue;
    assert(automata.countable[rule]);
    auto found =
        findCountRanges(automata, rule, it.min, it.max, rangeCount, meter);
    if (!found)
      return found.status().withContext("rule '" + it.name + "'");
    ranges.emplace(rule, found.take());
  }
  return ranges;
}

/// Visits rules depth first along the calls with which a rule can begin.
class FirstCallOrder {
public:
  FirstCallOrder(const RuleAutomata &automata, const GrammarBuilder &builder)
      : automata(automata), builder(builder),
        color(builder.rules().size(), Color::White) {}

  /// Errors: a rule can begin with itself.
  Status visit(RuleId rule) {
    if (color[rule] != Color::White)
      return {};
    enter(rule);
    while (!path.empty()) {
      Step &step = path.back();
      auto calls = automata.callsOf(automata.firstState[step.rule]);
      if (step.nextCall == calls.size()) {
        color[step.rule] = Color::Black;
        finished.push_back(step.rule);
        path.pop_back();
        continue;
      }
      RuleId callee = calls[step.nextCall++].rule;
      if (color[callee] == Color::Gray)
        return leftRecursion(callee);
      if (color[callee] == Color::White)
        enter(callee);
    }
    return {};
  }

  /// Returns the visited rules, each after all rules with which it can begin.
  const std::vector<RuleId> &calleesFirst() const { return finished; }

private:
  enum class Color : uint8_t { White, Gray, Black };
  struct Step {
    RuleId rule;
    size_t nextCall = 0;
  };

  void enter(RuleId rule) {
    color[rule] = Color::Gray;
    path.push_back({rule});
  }

  Status leftRecursion(RuleId again) const {
    constexpr size_t max = 8;
    auto name = [&](RuleId rule) { return builder.rules()[rule].name; };
    size_t first = path.size() - 1;
    while (path[first].rule != again)
      --first;
    std::string cycle = name(again);
    for (size_t i = first + 1; i < path.size() && i < first + max; ++i)
      cycle += " -> " + name(path[i].rule);
    if (path.size() > first + max)
      cycle += " -> ...";
    return failure("rule '", name(again),
                   "' is left-recursive, it can begin with itself: ", cycle,
                   " -> ", name(again));
  }

  const RuleAutomata &automata;
  const GrammarBuilder &builder;
  std::vector<Color> color;
  std::vector<Step> path;
  std::vector<RuleId> finished;
};

/// Finds, for each state, whether the end of its rule can be reached from it,
/// through calls of rules for which the same holds. Works backwards from
/// accepting states. For counted rules this is already known: from the start
/// there must be a way to go on with count 0, and from the other states with
/// some count.
class AliveStates {
public:
  AliveStates(const RuleAutomata &automata, const RangesByRule &ranges)
      : automata(automata), ranges(ranges), alive(automata.states.size()),
        byTarget(automata.states.size() + 1),
        byRule(automata.firstState.size()) {
    collect();
  }

  std::vector<bool> find() {
    for (uint32_t state = 0; state < alive.size(); ++state)
      if (isEnd(state))
        mark(state);
    while (!work.empty()) {
      uint32_t state = work.back();
      work.pop_back();
      for (uint32_t i = byTarget[state]; i < byTarget[state + 1]; ++i)
        follow(sources[i]);
      RuleId rule = sourceRule[state];
      if (automata.firstState[rule] == state)
        for (Source source : byRule[rule])
          if (alive[source.target])
            mark(source.state);
    }
    return std::move(alive);
  }

private:
  static constexpr RuleId noRule = GrammarTables::none;
  struct Source {
    uint32_t state;
    RuleId rule; ///< noRule for an edge that reads a byte
    uint32_t target;
  };

  /// Collects every edge and call by its target, and every call by its rule.
  void collect() {
    for (uint32_t state = 0; state < alive.size(); ++state) {
      for (RuleAutomata::Edge edge : automata.edgesOf(state))
        sources.push_back({state, noRule, edge.target});
      for (RuleAutomata::Call call : automata.callsOf(state)) {
        sources.push_back({state, call.rule, call.target});
        byRule[call.rule].push_back({state, call.rule, call.target});
      }
    }
    std::sort(sources.begin(), sources.end(),
              [](Source a, Source b) { return a.target < b.target; });
    size_t next = 0;
    for (uint32_t state = 0; state <= alive.size(); ++state) {
      while (next < sources.size() && sources[next].target < state)
        ++next;
      byTarget[state] = static_cast<uint32_t>(next);
    }
    for (RuleId rule = 0; rule + 1 < automata.firstState.size(); ++rule)
      sourceRule.resize(automata.firstState[rule + 1], rule);
  }

  bool isEnd(uint32_t state) const {
    RuleId rule = sourceRule[state];
    auto counted = ranges.find(rule);
    if (counted == ranges.end())
      return automata.states[state].accepting;
    uint32_t number = state - automata.firstState[rule];
    const std::vector<CountRange> &counts = counted->second[number];
    if (number == 0)
      return !counts.empty() && counts[0].min == 0;
    return !counts.empty() || automata.states[state].accepting;
  }

  void follow(Source source) {
    if (ranges.contains(sourceRule[source.state]))
      return;
    if (source.rule == noRule || alive[automata.firstState[source.rule]])
      mark(source.state);
  }

  void mark(uint32_t state) {
    if (alive[state])
      return;
    alive[state] = true;
    work.push_back(state);
  }

  const RuleAutomata &automata;
  const RangesByRule &ranges;
  std::vector<bool> alive;
  std::vector<Source> sources; // sorted by target
  std::vector<uint32_t> byTarget;
  std::vector<std::vector<Source>> byRule;
  std::vector<RuleId> sourceRule; // [state]
  std::vector<uint32_t> work;
};

/// Writes the tables of what is alive and reachable from the root.
class TableWriter {
public:
  TableWriter(const RuleAutomata &automata, const GrammarBuilder &builder,
              const RangesByRule &ranges, std::vector<bool> alive)
      : automata(automata), builder(builder), ranges(ranges),
        alive(std::move(alive)),
        stateNumber(automata.states.size(), GrammarTables::none),
        ruleNumber(builder.rules().size(), GrammarTables::none) {}

  GrammarTables write(RuleId root, const std::vector<RuleId> &calleesFirst) {
    number(root, calleesFirst);
    tables.states.resize(1 + order.size());
    tables.states[GrammarTables::textEnd] = {.edges = 0,
                                             .calls = 0,
                                             .callCount = 0,
                                             .counts = 0,
                                             .rangeCount = 0,
                                             .rule = 0,
                                             .edgeCount = 0,
                                             .flags = GrammarTables::Final};
    for (uint32_t state : order)
      writeState(state);
    writeCountBounds();
    writeFirstBytes();
    tables.root = ruleNumber[root];
    tables.rootNullable = automata.nullable[root];
    return std::move(tables);
  }

private:
  bool canFollow(RuleAutomata::Call call) const {
    return alive[call.target] && alive[automata.firstState[call.rule]];
  }

  /// Numbers the states and rules that are reached from the root.
  void number(RuleId root, const std::vector<RuleId> &calleesFirst) {
    std::vector<bool> reached(ruleNumber.size());
    std::vector<RuleId> rules{root};
    reached[root] = true;
    for (size_t i = 0; i < rules.size(); ++i) {
      size_t next = order.size();
      addState(automata.firstState[rules[i]], rules[i]);
      for (; next < order.size(); ++next) {
        for (RuleAutomata::Edge edge : automata.edgesOf(order[next]))
          if (alive[edge.target])
            addState(edge.target, rules[i]);
        for (RuleAutomata::Call call : automata.callsOf(order[next]))
          if (canFollow(call)) {
            addState(call.target, rules[i]);
            if (!reached[call.rule])
              rules.push_back(call.rule);
            reached[call.rule] = true;
          }
      }
    }
    for (size_t i = calleesFirst.size(); i-- > 0;)
      if (RuleId rule = calleesFirst[i]; reached[rule]) {
        ruleNumber[rule] = static_cast<uint32_t>(tables.rules.size());
        const GrammarBuilder::Rule &it = builder.rules()[rule];
        tables.rules.push_back({.start = stateNumber[automata.firstState[rule]],
                                .min = it.min,
                                .max = it.max,
                                .bounds = 0,
                                .boundCount = 0,
                                .first = {}});
      }
  }

  void addState(uint32_t state, RuleId rule) {
    if (stateNumber[state] != GrammarTables::none)
      return;
    order.push_back(state);
    ruleOf.push_back(rule);
    stateNumber[state] = static_cast<uint32_t>(order.size());
  }

  void writeState(uint32_t from) {
    uint32_t number = stateNumber[from];
    RuleId rule = ruleOf[number - 1];
    GrammarTables::State state{};
    state.rule = ruleNumber[rule];
    if (automata.states[from].accepting)
      state.flags |= GrammarTables::Accepting;
    if (auto counted = ranges.find(rule); counted != ranges.end()) {
      const std::vector<CountRange> &counts =
          counted->second[from - automata.firstState[rule]];
      state.flags |= GrammarTables::Counted;
      state.counts = static_cast<uint32_t>(tables.countRanges.size());
      state.rangeCount = static_cast<uint32_t>(counts.size());
      tables.countRanges.insert(tables.countRanges.end(), counts.begin(),
                                counts.end());
    }
    writeEdges(from, state);
    state.calls = static_cast<uint32_t>(tables.callList.size());
    for (RuleAutomata::Call call : automata.callsOf(from))
      if (canFollow(call)) {
        tables.callList.push_back(
            {ruleNumber[call.rule], stateNumber[call.target]});
        ++state.callCount;
      }
    if (state.edgeCount + state.callCount == 0)
      state.flags |= GrammarTables::Final;
    tables.states[number] = state;
  }

  void writeEdges(uint32_t from, GrammarTables::State &state) {
    constexpr size_t maxSearched = 4;
    size_t first = tables.ranges.size();
    for (RuleAutomata::Edge edge : automata.edgesOf(from)) {
      if (!alive[edge.target])
        continue;
      uint32_t target = stateNumber[edge.target];
      if (edge.counts)
        target |= GrammarTables::countBit;
      tables.ranges.push_back({edge.low, edge.high, target});
    }
    state.edges = static_cast<uint32_t>(first);
    state.edgeCount = static_cast<uint16_t>(tables.ranges.size() - first);
    if (state.edgeCount <= maxSearched || tables.rows.size() >= maxDenseRows)
      return;
    GrammarTables::Row &row = tables.rows.emplace_back();
    row.fill(GrammarTables::none);
    for (size_t i = first; i < tables.ranges.size(); ++i)
      std::fill(row.begin() + tables.ranges[i].low,
                row.begin() + tables.ranges[i].high + 1,
                tables.ranges[i].target);
    tables.ranges.resize(first);
    state.edges = static_cast<uint32_t>(tables.rows.size() - 1);
    state.flags |= GrammarTables::Dense;
  }

  void writeCountBounds() {
    std::map<uint32_t, std::vector<uint32_t>> bounds; // [rule]
    for (const GrammarTables::State &state : tables.states) {
      if (!(state.flags & GrammarTables::Counted))
        continue;
      std::vector<uint32_t> &its = bounds[state.rule];
      its.push_back(tables.rules[state.rule].min);
      for (uint32_t i = 0; i < state.rangeCount; ++i) {
        CountRange range = tables.countRanges[state.counts + i];
        its.push_back(range.min);
        if (range.max != GrammarTables::unbounded)
          its.push_back(range.max + 1);
      }
    }
    for (auto &[rule, its] : bounds) {
      std::sort(its.begin(), its.end());
      its.erase(std::unique(its.begin(), its.end()), its.end());
      tables.rules[rule].bounds =
          static_cast<uint32_t>(tables.countBounds.size());
      tables.rules[rule].boundCount = static_cast<uint32_t>(its.size());
      tables.countBounds.insert(tables.countBounds.end(), its.begin(),
                                its.end());
    }
  }

  /// The callees of a rule have higher numbers, so their bytes are known before
  /// its own.
  void writeFirstBytes() {
    for (size_t i = tables.rules.size(); i-- > 0;) {
      GrammarTables::Rule &rule = tables.rules[i];
      const GrammarTables::State &start = tables.states[rule.start];
      for (unsigned byte = 0; byte < 256; ++byte)
        if (tables.move(start, 0, static_cast<uint8_t>(byte)).target !=
            GrammarTables::none)
          rule.first.set(byte);
      for (uint32_t c = 0; c < start.callCount; ++c)
        rule.first |= tables.rules[tables.callList[start.calls + c].rule].first;
    }
  }

  const RuleAutomata &automata;
  const GrammarBuilder &builder;
  const RangesByRule &ranges;
  std::vector<bool> alive;
  std::vector<uint32_t> stateNumber; // [state of automata]
  std::vector<uint32_t> ruleNumber;  // [rule of builder]
  std::vector<uint32_t> order;       // [number - 1]: the state of automata
  std::vector<RuleId> ruleOf;        // [number - 1]
  GrammarTables tables;
};

/// The bytes of a state, edge or call, in AliveStates and in the tables.
constexpr size_t bytesOfEach = 64;

} // namespace

Expected<GrammarTables>
sluice::grammar::compileGrammar(const GrammarBuilder &builder, RuleId root,
                                WorkMeter &meter) {
  Expected<RuleAutomata> automata = determinize(builder, meter);
  if (!automata)
    return automata.status();
  // The following steps visit each state, edge and call a few times, and make
  // tables of about twice their size.
  size_t size =
      automata->states.size() + automata->edges.size() + automata->calls.size();
  HeldBytes held(meter);
  if (!held.add(size * bytesOfEach) || !meter.charge(size))
    return meter.status();
  FirstCallOrder order(*automata, builder);
  for (RuleId rule = 0; rule < builder.rules().size(); ++rule)
    SLUICE_RETURN_IF_ERROR(order.visit(rule));
  Expected<RangesByRule> ranges = findRanges(*automata, builder, meter);
  if (!ranges)
    return ranges.status();
  std::vector<bool> alive = AliveStates(*automata, *ranges).find();
  if (!automata->nullable[root] && !alive[automata->firstState[root]])
    return failure("the grammar matches no text: '", builder.rules()[root].name,
                   "' has no end that can be reached");
  return TableWriter(*automata, builder, *ranges, std::move(alive))
      .write(root, order.calleesFirst());
}
