//===- CountRanges.cpp - counts from which a counted rule can end ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Visits the counts from the highest down. A state can do something else with a
// count than with the next higher one only if it precedes a state for which the
// same held there, so only such states are visited again.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/CountRanges.h"

#include "runtime/grammar/GrammarLimits.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::grammar;

namespace {

using States = std::vector<uint32_t>;

class RangeFinder {
public:
  RangeFinder(const RuleAutomata &automata, RuleId rule, uint32_t min,
              uint32_t max, size_t &rangeCount, WorkMeter &meter)
      : automata(automata), rangeCount(rangeCount), meter(meter),
        base(automata.firstState[rule]),
        count(automata.firstState[rule + 1] - base), min(min), max(max),
        sources(count), goesOn(count), lives(count), isAffected(count),
        openedAt(count), ranges(count) {
    for (uint32_t state = 0; state < count; ++state) {
      for (RuleAutomata::Edge edge : automata.edgesOf(base + state))
        sources[edge.target - base].push_back({state, edge.counts});
      if (automata.states[base + state].accepting)
        accepting.push_back(state);
    }
  }

  Expected<CountRanges> run() {
    int64_t level = max;
    if (max == GrammarTables::unbounded) {
      startUnbounded();
      level = int64_t(min) - 1;
    }
    while (level >= 0) {
      SLUICE_RETURN_IF_ERROR(visit(static_cast<uint32_t>(level)));
      // If nothing has changed, nothing changes at lower counts either, until
      // the count at which the rule may no longer end.
      if (!changed.empty())
        --level;
      else
        level = level >= min ? int64_t(min) - 1 : -1;
    }
    for (uint32_t state = 0; state < count; ++state) {
      if (goesOn[state])
        addRange(state, 0);
      std::reverse(ranges[state].begin(), ranges[state].end());
    }
    return std::move(ranges);
  }

private:
  struct Source {
    uint32_t state;
    bool counts;
  };

  /// Handles the count `min` without an upper bound, where counting stops:
  /// every state that leads to an accepting state leads to an end.
  void startUnbounded() {
    States pending = accepting;
    for (uint32_t state : accepting)
      lives[state] = true;
    while (!pending.empty()) {
      uint32_t state = pending.back();
      pending.pop_back();
      for (Source source : sources[state]) {
        goesOn[source.state] = true;
        openedAt[source.state] = GrammarTables::unbounded;
        if (!lives[source.state])
          pending.push_back(source.state);
        lives[source.state] = true;
      }
    }
  }

  bool endsAt(uint32_t state, uint32_t level) const {
    return automata.states[base + state].accepting && level >= min &&
           level <= max;
  }

  /// Updates `goesOn` and `lives` from the count above to `level`, and sets
  /// `changed` to the states whose `lives` differ.
  Status visit(uint32_t level) {
    bool endsChange = level == max || level + 1 == min;
    findAffected(endsChange);
    std::vector<bool> before;
    for (uint32_t state : affected) {
      before.push_back(goesOn[state]);
      goesOn[state] = false;
    }
    findAnew(level);
    for (size_t i = 0; i < affected.size(); ++i) {
      uint32_t state = affected[i];
      isAffected[state] = false;
      if (goesOn[state] && !before[i])
        openedAt[state] = level;
      if (!goesOn[state] && before[i])
        addRange(state, level + 1);
    }
    if (endsChange)
      affected.insert(affected.end(), accepting.begin(), accepting.end());
    changed.clear();
    for (uint32_t state : affected) {
      bool now = goesOn[state] || endsAt(state, level);
      if (now != lives[state])
        changed.push_back(state);
      lives[state] = now;
    }
    if (rangeCount > maxCountRanges)
      return tooIrregular();
    return meter.spend(1 + affected.size() + changed.size());
  }

  /// Adds a range from `low` to where the state's latest range opened.
  void addRange(uint32_t state, uint32_t low) {
    ranges[state].push_back({low, openedAt[state]});
    ++rangeCount;
  }

  static Status tooIrregular() {
    return failure("the lengths of its texts, together with those of the "
                   "counted rules before it, are too irregular to be counted "
                   "up to bounds this high");
  }

  /// Finds the states that lead to states that changed at the count above, or
  /// to accepting states if ends change at this count, and the states that lead
  /// to these at the same count.
  void findAffected(bool endsChange) {
    affected.clear();
    auto addBefore = [&](uint32_t state, bool counts) {
      (void)meter.charge(sources[state].size()); // visit() ends the work
      for (Source source : sources[state]) {
        if (source.counts != counts || isAffected[source.state])
          continue;
        isAffected[source.state] = true;
        affected.push_back(source.state);
      }
    };
    for (uint32_t state : changed)
      addBefore(state, true);
    if (endsChange)
      for (uint32_t state : accepting)
        addBefore(state, false);
    for (size_t i = 0; i < affected.size(); ++i)
      addBefore(affected[i], false);
  }

  /// Computes which affected states go on: those that lead to states that do,
  /// here or at the count above, and then the states that lead to them.
  void findAnew(uint32_t level) {
    States pending;
    auto mark = [&](uint32_t state) {
      if (!goesOn[state])
        pending.push_back(state);
      goesOn[state] = true;
    };
    for (uint32_t state : affected) {
      (void)meter.charge(automata.edgesOf(base + state).size());
      for (RuleAutomata::Edge edge : automata.edgesOf(base + state)) {
        uint32_t target = edge.target - base;
        if (edge.counts ? lives[target]
                        : goesOn[target] || endsAt(target, level))
          mark(state);
      }
    }
    while (!pending.empty()) {
      uint32_t state = pending.back();
      pending.pop_back();
      for (Source source : sources[state])
        if (!source.counts)
          mark(source.state);
    }
  }

  const RuleAutomata &automata;
  size_t &rangeCount; // of the whole grammar
  WorkMeter &meter;
  // The rule's first state; the states here are numbered from it.
  const uint32_t base;
  const uint32_t count;
  const uint32_t min, max;
  std::vector<std::vector<Source>> sources; // [state]: the edges into it
  States accepting;

  // The state of the current count; until it is computed, that of the count
  // above.
  std::vector<bool> goesOn; // a byte can follow, and an end after it
  std::vector<bool> lives;  // goesOn, or it may end
  States changed;

  std::vector<bool> isAffected;
  States affected;
  std::vector<uint32_t> openedAt; // the highest count of the latest range
  CountRanges ranges;             // the highest counts first
};

} // namespace

Expected<CountRanges>
sluice::grammar::findCountRanges(const RuleAutomata &automata, RuleId rule,
                                 uint32_t min, uint32_t max, size_t &rangeCount,
                                 WorkMeter &meter) {
  return RangeFinder(automata, rule, min, max, rangeCount, meter).run();
}
