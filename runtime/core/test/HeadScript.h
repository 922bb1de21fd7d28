//===- HeadScript.h - steps through the head event by event ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A head for tests that write out each event; `last` has what the last event
// led to.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_HEADSCRIPT_H
#define SLUICE_RUNTIME_CORE_TEST_HEADSCRIPT_H

#include "runtime/core/Head.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace sluice::test {

using Tokens = std::vector<int32_t>;
using NodeIds = std::vector<NodeId>;

inline Time millis(double count) {
  return Time(static_cast<int64_t>(count * 1e6));
}

/// Step times of 10 ms, plus `perRow` for each row after the first; four
/// stages.
inline PipelineTimes timesWith(double perRow) {
  std::array<Time, StepTimes::rowCounts.size()> steps, drafts;
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i] = millis(10 + perRow * (StepTimes::rowCounts[i] - 1));
    drafts[i] = millis(1);
  }
  return {StepTimes(steps), millis(40), millis(0.25), StepTimes(drafts)};
}

struct Script {
  HeadLimits limits = {.contextLength = 100, .hasDraft = true};
  SpeculationOptions options;
  double perRow = 0;
  bool notes = false;
  std::optional<Head> head;
  HeadCommands last;
  Time now{0};

  void begin() {
    Expected<Head> made =
        Head::create(limits, options, timesWith(perRow), notes);
    ASSERT_TRUE(made) << made.status().message();
    head.emplace(made.take());
  }
  void take() {
    last = std::move(head->commands());
    head->commands().clear();
    for (const StepFrame &frame : last.launches)
      for (const Row &row : frame.rows)
        frameOf[{row.request, row.node}] = frame.launched;
  }
  RequestId submit(Tokens prompt, int64_t maxTokens = -1, Tokens stops = {}) {
    if (!head)
      begin();
    RequestSpec spec;
    spec.prompt = std::move(prompt);
    spec.maxTokens = maxTokens;
    spec.stopTokens = std::move(stops);
    Expected<std::optional<RequestId>> id = head->submit(spec, now);
    EXPECT_TRUE(id) << id.status().message();
    take();
    return id ? id->value_or(-1) : -1;
  }
  void result(NodeId node, int32_t token, RequestId request = 0) {
    ResultFrame frame;
    frame.launched = frameOf[{request, node}];
    frame.results.push_back({node, request, token, {}});
    head->onResults(frame, now);
    take();
  }
  /// Reports that the first `frames` frames have passed all stages.
  void passed(uint64_t frames) {
    ResultFrame frame;
    frame.launched = frames;
    head->onResults(frame, now);
    take();
  }
  /// Sends the draft's answer: candidates for some rows of its frame.
  void guess(std::vector<std::pair<NodeId, std::vector<Candidate>>> guesses) {
    GuessFrame frame;
    frame.step = draftStep++;
    frame.timing = {.rows = 1, .departed = 0, .busyNanos = 1000000};
    for (auto &[node, candidates] : guesses)
      frame.guesses.push_back({node, 0, std::move(candidates)});
    head->onGuesses(frame, now);
    take();
  }
  void wait(double time) {
    now += millis(time);
    head->onWake(now);
    take();
  }
  uint64_t draftStep = 0;
  /// [row]: StepFrame::launched of the frame that carried it.
  std::map<std::pair<RequestId, NodeId>, uint64_t> frameOf;

  /// Returns the nodes of the only launched frame.
  NodeIds launched() {
    EXPECT_LE(last.launches.size(), 1u);
    return last.launches.empty() ? NodeIds() : nodesOf(last.launches[0]);
  }
  NodeIds drafted() {
    EXPECT_LE(last.drafts.size(), 1u);
    return last.drafts.empty() ? NodeIds() : nodesOf(last.drafts[0]);
  }
  static NodeIds nodesOf(const StepFrame &frame) {
    NodeIds nodes;
    for (const Row &row : frame.rows)
      nodes.push_back(row.node);
    return nodes;
  }
  Tokens tokens() const {
    Tokens all;
    for (const TokenEvent &event : last.tokens)
      all.push_back(event.token);
    return all;
  }
  const SpeculationCounters &counters() const { return head->counters(0); }
};

/// Rows 0 and 1 are the prompt. The draft has answered with nodes 2 (token 20)
/// and 3 (token 30) below row 1, and both are in flight.
struct TwoGuesses : Script {
  TwoGuesses() {
    submit({5, 6});
    guess({{1, {{20, 0.8f}, {30, 0.5f}}}});
    wait(5);
    EXPECT_EQ(launched(), (NodeIds{2, 3}));
  }
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_HEADSCRIPT_H
