//===- Determinizer.cpp - makes the automata of rules deterministic -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/Determinizer.h"

#include "runtime/grammar/GrammarLimits.h"
#include "runtime/grammar/StateSetHash.h"

#include <algorithm>
#include <unordered_map>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using EdgeKind = GrammarBuilder::EdgeKind;
using StateSet = std::vector<BuilderState>; // sorted

/// Finds the rules that match the empty text. It follows the edges that read
/// nothing from every rule's start; a call becomes such an edge once its rule
/// is known to match the empty text. Each edge is visited once. Errors: the
/// meter ends the work.
Expected<std::vector<bool>> findNullable(const GrammarBuilder &builder,
                                         WorkMeter &meter) {
  const std::vector<GrammarBuilder::Rule> &rules = builder.rules();
  struct RuleState {
    RuleId rule;
    BuilderState state;
  };
  std::vector<bool> nullable(rules.size()), seen(builder.stateCount());
  std::vector<std::vector<RuleState>> waiting(rules.size());
  std::vector<RuleState> work;
  auto reach = [&](RuleId rule, BuilderState state) {
    if (!seen[state]) {
      seen[state] = true;
      work.push_back({rule, state});
    }
  };
  for (RuleId rule = 0; rule < rules.size(); ++rule)
    reach(rule, rules[rule].start);
  auto markNullable = [&](RuleId rule) {
    if (nullable[rule])
      return;
    nullable[rule] = true;
    for (RuleState place : waiting[rule])
      reach(place.rule, place.state);
  };
  while (!work.empty()) {
    RuleState place = work.back();
    work.pop_back();
    const GrammarBuilder::Rule &rule = rules[place.rule];
    if (place.state == rule.end && (!rule.counted || rule.min == 0))
      markNullable(place.rule);
    for (uint32_t i = builder.firstEdgeOf(place.state); i != noEdge;
         i = builder.edge(i).next) {
      if (!meter.charge())
        return meter.status();
      const GrammarBuilder::Edge &edge = builder.edge(i);
      if (edge.kind == EdgeKind::Epsilon)
        reach(place.rule, edge.target);
      else if (edge.kind == EdgeKind::Call && nullable[edge.rule])
        reach(place.rule, edge.target);
      else if (edge.kind == EdgeKind::Call)
        waiting[edge.rule].push_back({place.rule, edge.target});
    }
  }
  return nullable;
}

/// Runs the subset construction, one rule after the other.
class Determinizer {
public:
  Determinizer(const GrammarBuilder &builder, WorkMeter &meter, size_t maxSteps)
      : builder(builder), meter(meter), firstStep(meter.steps()),
        maxSteps(maxSteps), heldSets(meter), stamp(builder.stateCount()) {
    out.held = HeldBytes(meter);
  }

  Expected<RuleAutomata> run() {
    if (builder.full())
      return meter.status().ok() ? tooLarge() : meter.status();
    Expected<std::vector<bool>> nullable = findNullable(builder, meter);
    if (!nullable)
      return nullable.status();
    out.nullable = nullable.take();
    for (RuleId rule = 0; rule < builder.rules().size(); ++rule) {
      out.firstState.push_back(static_cast<uint32_t>(out.states.size()));
      SLUICE_RETURN_IF_ERROR(makeRule(builder.rules()[rule]));
    }
    out.firstState.push_back(static_cast<uint32_t>(out.states.size()));
    return std::move(out);
  }

private:
  static Status tooLarge() {
    return failure("the grammar is too large: its automaton needs more than ",
                   maxStates, " states");
  }

  Status makeRule(const GrammarBuilder::Rule &rule) {
    numbers.clear();
    sets.clear();
    heldSets.clear();
    base = static_cast<uint32_t>(out.states.size());
    end = rule.end;
    ambiguous = false;
    // The start of a rule that matches the empty text is a separate state that
    // does not accept, since the same set may be reached again in other ways.
    StateSet first = closure({rule.start});
    ambiguous |= counts;
    bool empty = std::binary_search(first.begin(), first.end(), end);
    if (empty)
      sets.push_back(&first);
    else
      numberOf(StateSet(first));
    for (size_t i = 0; i < sets.size(); ++i) {
      SLUICE_RETURN_IF_ERROR(checkSize(rule));
      const StateSet &set = *sets[i];
      RuleAutomata::State state{};
      state.accepting =
          !(i == 0 && empty) && std::binary_search(set.begin(), set.end(), end);
      state.firstEdge = static_cast<uint32_t>(out.edges.size());
      state.firstCall = static_cast<uint32_t>(out.calls.size());
      addEdges(set);
      addCalls(set);
      if (!mayGoOn)
        return checkSize(rule);
      state.edgeCount =
          static_cast<uint32_t>(out.edges.size()) - state.firstEdge;
      state.callCount =
          static_cast<uint32_t>(out.calls.size()) - state.firstCall;
      out.states.push_back(state);
      ambiguous |= state.callCount > 0;
    }
    out.countable.push_back(!ambiguous);
    return {};
  }

  /// Errors: the automaton is too large, or the work must end.
  Status checkSize(const GrammarBuilder::Rule &rule) {
    if (base + sets.size() > maxStates)
      return tooLarge().withContext("rule '" + rule.name + "'");
    if (meter.steps() - firstStep > maxSteps)
      return failure("it takes more than ", maxSteps, " steps");
    return meter.spend();
  }

  /// Counts steps of the loops below. When the work must end, the loops end,
  /// and their results must not be used.
  bool charge(size_t steps) {
    mayGoOn =
        mayGoOn && meter.charge(steps) && meter.steps() - firstStep <= maxSteps;
    return mayGoOn;
  }

  /// Returns the number of the state for `set`, which is new if there is none
  /// yet.
  uint32_t numberOf(StateSet set) {
    constexpr size_t entryBytes = 64; // of the table, besides the set's members
    (void)charge(set.size());
    auto number = static_cast<uint32_t>(base + sets.size());
    auto [found, fresh] = numbers.try_emplace(std::move(set), number);
    if (fresh) {
      sets.push_back(&found->first); // keys of the map do not move
      mayGoOn &=
          heldSets.add(entryBytes + found->first.size() * sizeof(BuilderState));
    }
    return found->second;
  }

  /// Returns what can be reached from `seeds` without reading anything, reduced
  /// to the states that matter: those with other edges, and the rule's end.
  /// Sets `counts` to whether the way there leads through counting states, and
  /// `ambiguous` if that depends on the way.
  StateSet closure(StateSet seeds) {
    ++round;
    for (BuilderState seed : seeds)
      stamp[seed] = round;
    StateSet reached, counting;
    while (!seeds.empty() && mayGoOn) {
      BuilderState state = seeds.back();
      seeds.pop_back();
      if (builder.isCounting(state))
        counting.push_back(state);
      else
        expand(state, seeds, reached);
    }
    counts = !counting.empty();
    ambiguous |= counts && !reached.empty();
    for (BuilderState state : counting)
      expand(state, seeds, reached);
    while (!seeds.empty() && mayGoOn) {
      BuilderState state = seeds.back();
      seeds.pop_back();
      ambiguous |= builder.isCounting(state);
      expand(state, seeds, reached);
    }
    std::sort(reached.begin(), reached.end());
    reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
    return reached;
  }

  /// Adds `state` to `reached` if it matters, and the states that follow it
  /// without reading anything to `next`.
  void expand(BuilderState state, StateSet &next, StateSet &reached) {
    bool matters = state == end;
    for (uint32_t i = builder.firstEdgeOf(state); i != noEdge && charge(1);
         i = builder.edge(i).next) {
      const GrammarBuilder::Edge &edge = builder.edge(i);
      matters |= edge.kind != EdgeKind::Epsilon;
      bool reads = edge.kind == EdgeKind::Bytes ||
                   (edge.kind == EdgeKind::Call && !out.nullable[edge.rule]);
      if (reads || stamp[edge.target] == round)
        continue;
      stamp[edge.target] = round;
      next.push_back(edge.target);
    }
    if (matters)
      reached.push_back(state);
  }

  void addEdges(const StateSet &set) {
    struct Reading {
      ByteRange bytes;
      BuilderState target;
    };
    std::vector<Reading> readings;
    std::vector<unsigned> bounds;
    for (BuilderState state : set)
      for (uint32_t i = builder.firstEdgeOf(state); i != noEdge && charge(1);
           i = builder.edge(i).next)
        if (const GrammarBuilder::Edge &edge = builder.edge(i);
            edge.kind == EdgeKind::Bytes) {
          readings.push_back({edge.bytes, edge.target});
          bounds.push_back(edge.bytes.low);
          bounds.push_back(edge.bytes.high + 1u);
        }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    auto first = static_cast<uint32_t>(out.edges.size());
    for (size_t i = 0; i + 1 < bounds.size() && charge(readings.size()); ++i) {
      StateSet targets;
      for (const Reading &reading : readings)
        if (reading.bytes.low <= bounds[i] && bounds[i] <= reading.bytes.high)
          targets.push_back(reading.target);
      if (targets.empty())
        continue;
      uint32_t target = numberOf(closure(std::move(targets)));
      auto low = static_cast<uint8_t>(bounds[i]);
      auto high = static_cast<uint8_t>(bounds[i + 1] - 1);
      if (out.edges.size() > first && out.edges.back().target == target &&
          out.edges.back().counts == counts && out.edges.back().high + 1 == low)
        out.edges.back().high = high;
      else
        out.edges.push_back({low, high, counts, target});
    }
    mayGoOn &=
        out.held.add((out.edges.size() - first) * sizeof(RuleAutomata::Edge) +
                     sizeof(RuleAutomata::State));
  }

  void addCalls(const StateSet &set) {
    std::vector<std::pair<RuleId, BuilderState>> found;
    for (BuilderState state : set)
      for (uint32_t i = builder.firstEdgeOf(state); i != noEdge && charge(1);
           i = builder.edge(i).next)
        if (const GrammarBuilder::Edge &edge = builder.edge(i);
            edge.kind == EdgeKind::Call)
          found.emplace_back(edge.rule, edge.target);
    std::sort(found.begin(), found.end());
    mayGoOn &= out.held.add(found.size() * sizeof(RuleAutomata::Call));
    for (size_t i = 0; i < found.size() && charge(1);) {
      RuleId rule = found[i].first;
      StateSet targets;
      for (; i < found.size() && found[i].first == rule; ++i)
        targets.push_back(found[i].second);
      uint32_t target = numberOf(closure(std::move(targets)));
      out.calls.push_back({rule, target});
    }
  }

  const GrammarBuilder &builder;
  WorkMeter &meter;
  const size_t firstStep, maxSteps; // steps of the meter
  RuleAutomata out;
  HeldBytes heldSets; // of the current rule
  bool mayGoOn = true;

  // The current rule.
  uint32_t base = 0;
  BuilderState end = 0;
  bool ambiguous = false;
  std::vector<const StateSet *> sets;
  std::unordered_map<StateSet, uint32_t, StateSetHash> numbers;

  // The state of closure(): whether a state has been reached in this round.
  std::vector<uint32_t> stamp;
  uint32_t round = 0;
  bool counts = false;
};

} // namespace

Expected<RuleAutomata>
sluice::grammar::determinize(const GrammarBuilder &builder, WorkMeter &meter,
                             size_t maxSteps) {
  return Determinizer(builder, meter, maxSteps).run();
}
