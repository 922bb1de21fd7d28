//===- GrammarBuilder.cpp - builds the rules of a grammar -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/GrammarBuilder.h"

using namespace sluice::grammar;

RuleId GrammarBuilder::addRule(std::string name) {
  if (!takes(sizeof(Rule) + name.size()) && !ruleList.empty())
    return 0; // any rule will do: a full builder makes no grammar
  Rule rule;
  rule.name = std::move(name);
  rule.start = addState();
  rule.end = addState();
  ruleList.push_back(std::move(rule));
  return static_cast<RuleId>(ruleList.size() - 1);
}

RuleId GrammarBuilder::addCountedRule(std::string name, uint32_t min,
                                      uint32_t max) {
  RuleId rule = addRule(std::move(name));
  ruleList[rule].counted = true;
  ruleList[rule].min = min;
  ruleList[rule].max = max;
  return rule;
}

GrammarBuilder::Repetition
GrammarBuilder::addRepetition(std::string name, uint32_t min, uint32_t max) {
  RuleId rule = addCountedRule(std::move(name), min, max);
  BuilderState from = addState(), to = addCountingState();
  epsilon(start(rule), from);
  epsilon(start(rule), end(rule));
  epsilon(to, from);
  epsilon(to, end(rule));
  return {rule, from, to};
}

BuilderState GrammarBuilder::addCountingState() {
  BuilderState state = addState();
  if (!exhausted)
    counting[state] = true;
  return state;
}

/// Returns whether one more object of this size fits.
bool GrammarBuilder::takes(size_t bytes) {
  exhausted = exhausted || !meter.charge() || !held.add(bytes);
  return !exhausted;
}

BuilderState GrammarBuilder::addState() {
  if (firstEdge.size() >= maxEdges)
    exhausted = true;
  if (!takes(sizeof(uint32_t)))
    return 0;
  firstEdge.push_back(noEdge);
  counting.push_back(false);
  return static_cast<BuilderState>(firstEdge.size() - 1);
}

void GrammarBuilder::addEdge(BuilderState from, Edge edge) {
  if (edges.size() >= maxEdges)
    exhausted = true;
  if (!takes(sizeof(Edge)))
    return;
  edge.next = firstEdge[from];
  firstEdge[from] = static_cast<uint32_t>(edges.size());
  edges.push_back(edge);
}

void GrammarBuilder::epsilon(BuilderState from, BuilderState to) {
  addEdge(from, {to, noEdge, 0, EdgeKind::Epsilon, {}});
}

void GrammarBuilder::bytes(BuilderState from, uint8_t low, uint8_t high,
                           BuilderState to) {
  addEdge(from, {to, noEdge, 0, EdgeKind::Bytes, {low, high}});
}

void GrammarBuilder::call(BuilderState from, RuleId rule, BuilderState to) {
  addEdge(from, {to, noEdge, rule, EdgeKind::Call, {}});
}

void GrammarBuilder::literal(BuilderState from, std::string_view text,
                             BuilderState to) {
  if (text.empty())
    return epsilon(from, to);
  for (size_t i = 0; i < text.size(); ++i) {
    BuilderState next = i + 1 == text.size() ? to : addState();
    auto byte = static_cast<uint8_t>(text[i]);
    bytes(from, byte, byte, next);
    from = next;
  }
}

void GrammarBuilder::characters(BuilderState from, const CodePointSet &set,
                                BuilderState to) {
  for (const std::vector<ByteRange> &sequence : utf8Sequences(set)) {
    BuilderState at = from;
    for (size_t i = 0; i < sequence.size(); ++i) {
      BuilderState next = i + 1 == sequence.size() ? to : addState();
      bytes(at, sequence[i].low, sequence[i].high, next);
      at = next;
    }
  }
}
