//===- GrammarMatcher.cpp - runs a grammar over bytes ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarMatcher.h"

#include "runtime/grammar/GrammarLimits.h"

#include <algorithm>

using namespace sluice::grammar;

namespace {

using Tables = GrammarTables;

/// Puts the lowest rule on top, since std::push_heap puts the largest there.
constexpr auto laterRule = [](const auto &a, const auto &b) {
  return a.rule > b.rule;
};

} // namespace

void GrammarMatcher::attach(const GrammarTables &tables, const StackTable &held,
                            WorkMeter &meter) {
  this->tables = &tables;
  this->held = &held;
  this->meter = &meter;
  scratch.clear();
  items.clear();
  pending.clear(); // where memory ran out in the last step
  exceeded = false;
}

/// Returns whether the rule of the item may end at its state.
bool GrammarMatcher::isAccepting(const MatchItem &item) const {
  const Tables::State &state = tables->states[item.state];
  return state.flags & Tables::Counted ? tables->mayEnd(state, item.count)
                                       : state.flags & Tables::Accepting;
}

/// Returns whether the item can take no further byte in its rule.
bool GrammarMatcher::isOver(const MatchItem &item) const {
  const Tables::State &state = tables->states[item.state];
  if (state.flags & Tables::Counted)
    return !tables->goesOn(state, item.count);
  return state.flags & Tables::Final && item.state != Tables::textEnd;
}

bool GrammarMatcher::normalizeCount(MatchItem &item, uint32_t bytes) const {
  const Tables::State &state = tables->states[item.state];
  if (!(state.flags & Tables::Counted))
    return true;
  Tables::Stretch stretch =
      tables->stretchOf(tables->rules[state.rule], item.count);
  uint64_t max = uint64_t(item.count) + bytes;
  item.count = stretch.first;
  return max < stretch.end;
}

void GrammarMatcher::add(MatchItem item) {
  constexpr size_t comparisonsPerStep = 16;
  exceeded |= !meter->charge(1 + (items.size() - first) / comparisonsPerStep);
  if (exceeded)
    return;
  for (size_t i = first; i < items.size(); ++i)
    if (items[i] == item)
      return;
  if (items.size() - first >= maxItems)
    exceeded = true;
  else
    items.push_back(item);
}

/// Finds the entry with `edges`, or makes it.
uint32_t GrammarMatcher::intern() {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  uint64_t hash = StackTable::hashOf(edges);
  uint32_t depth = 0;
  bool onHeld = true;
  for (StackTable::Edge edge : edges)
    if (edge.parent != StackTable::none) {
      depth = std::max(depth, stackEntry(edge.parent).depth + 1);
      onHeld &= !(edge.parent & scratchBit);
    }
  if (depth > maxStackDepth || scratch.room() > maxScratchEdges)
    exceeded = true;
  if (onHeld)
    if (uint32_t found = held->find(edges, hash); found != StackTable::none)
      return found;
  uint32_t found = scratch.find(edges, hash);
  if (found == StackTable::none)
    found = scratch.insert(edges, hash, depth);
  return found | scratchBit;
}

uint32_t GrammarMatcher::stackEntryFor(StackTable::Edge edge) {
  edges.assign(1, edge);
  return intern();
}

uint32_t GrammarMatcher::lowestEntry() {
  return stackEntryFor({Tables::textEnd, StackTable::none});
}

bool GrammarMatcher::exhausted() const {
  return meter->end() != WorkMeter::End::None ||
         scratch.room() > maxScratchEdges;
}

void GrammarMatcher::start() {
  first = items.size();
  uint32_t root = tables->rules[tables->root].start;
  if (!(tables->states[root].flags & Tables::Final))
    add({root, 0, lowestEntry()});
  if (tables->rootNullable)
    add({Tables::textEnd, 0, StackTable::none});
}

void GrammarMatcher::returnFrom(uint32_t stackEntry) {
  first = items.size();
  exceeded = false;
  forEachEdge(stackEntry, [&](StackTable::Edge edge) {
    add({edge.state, 0, edge.parent});
  });
  finishRules();
  if (exceeded)
    items.resize(first);
}

void GrammarMatcher::addCall(uint32_t rule, StackTable::Edge edge) {
  exceeded |= pending.size() >= maxPendingCalls || !meter->charge();
  if (exceeded)
    return;
  pending.push_back({rule, edge});
  std::push_heap(pending.begin(), pending.end(), laterRule);
}

/// Takes `item` along its state's edge for `byte`; returns false if there is
/// none.
bool GrammarMatcher::read(MatchItem &item, uint8_t byte) const {
  Tables::Move move =
      tables->move(tables->states[item.state], item.count, byte);
  item.state = move.target;
  item.count = move.count;
  return move.target != Tables::none;
}

/// Takes `item` along its state's edge for `byte`, and notes the calls.
void GrammarMatcher::shift(MatchItem item, uint8_t byte) {
  const Tables::State &state = tables->states[item.state];
  if (MatchItem next = item; read(next, byte))
    add(next);
  exceeded |= !meter->charge(state.callCount);
  for (uint32_t i = state.calls, end = i + state.callCount;
       i < end && !exceeded; ++i) {
    Tables::Call call = tables->callList[i];
    if (!tables->rules[call.rule].first[byte])
      continue;
    // A call at the end of a rule returns directly to where that rule would
    // return, so lists that are written as tail recursion do not pile up
    // entries.
    if ((tables->states[call.target].flags & Tables::Final))
      forEachEdge(item.stackEntry,
                  [&](StackTable::Edge edge) { addCall(call.rule, edge); });
    else
      addCall(call.rule, {call.target, item.stackEntry});
  }
}

/// Makes one entry of all pending calls of `rule`, and enters the rule.
void GrammarMatcher::enter(uint32_t rule, uint8_t byte) {
  edges.clear();
  while (!pending.empty() && pending.front().rule == rule) {
    edges.push_back(pending.front().edge);
    std::pop_heap(pending.begin(), pending.end(), laterRule);
    pending.pop_back();
  }
  shift({tables->rules[rule].start, 0, intern()}, byte);
}

/// Returns from rules that may end, and from those that may end as a result.
/// Then drops the items that can go no further.
void GrammarMatcher::finishRules() {
  for (size_t i = first; i < items.size() && !exceeded; ++i) {
    MatchItem item = items[i];
    if (isAccepting(item))
      forEachEdge(item.stackEntry, [&](StackTable::Edge edge) {
        add({edge.state, 0, edge.parent});
      });
  }
  size_t kept = first;
  for (size_t i = first; i < items.size(); ++i)
    if (!isOver(items[i]))
      items[kept++] = items[i];
  items.resize(kept);
}

size_t GrammarMatcher::step(size_t begin, size_t end, uint8_t byte) {
  if (!meter->charge(end - begin))
    return 0;
  // Most states have no calls and read on in their rule.
  if (end - begin == 1) {
    MatchItem item = items[begin];
    const Tables::State &state = tables->states[item.state];
    if (state.callCount == 0) {
      if (!read(item, byte))
        return 0;
      if (!(tables->states[item.state].flags & Tables::Accepting)) {
        items.push_back(item);
        return 1;
      }
    }
  }
  first = items.size();
  exceeded = false;
  for (size_t i = begin; i < end && !exceeded; ++i)
    shift(items[i], byte);
  while (!pending.empty() && !exceeded)
    enter(pending.front().rule, byte);
  finishRules();
  if (exceeded) {
    pending.clear();
    items.resize(first);
  }
  return items.size() - first;
}
