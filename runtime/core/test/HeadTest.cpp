//===- HeadTest.cpp - the head's rules one by one -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The head's rules one by one, each event written out. Schedules at random are
// in HeadPipelineTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Head.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace sluice;

namespace {

using Tokens = std::vector<int32_t>;
using Nodes = std::vector<NodeId>;

Time millis(double count) { return Time(static_cast<int64_t>(count * 1e6)); }

/// Steps take 10 ms, plus `perRow` for each row after the first; four stages.
PipelineTimes timesWith(double perRow) {
  std::array<Time, StepTimes::rowCounts.size()> steps, drafts;
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i] = millis(10 + perRow * (StepTimes::rowCounts[i] - 1));
    drafts[i] = millis(1);
  }
  return {StepTimes(steps), millis(40), millis(0.25), StepTimes(drafts)};
}

/// A head and the events of a test, with what the last event led to.
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
  }
  RequestId submit(Tokens prompt, int64_t maxTokens = -1, Tokens stops = {}) {
    if (!head)
      begin();
    RequestSpec spec;
    spec.prompt = std::move(prompt);
    spec.maxTokens = maxTokens;
    spec.stopTokens = std::move(stops);
    Expected<RequestId> id = head->submit(std::move(spec), now);
    EXPECT_TRUE(id) << id.status().message();
    take();
    return id ? *id : -1;
  }
  void result(NodeId node, int32_t token, RequestId request = 0) {
    ResultFrame frame;
    frame.results.push_back({node, request, token, {}});
    head->onResults(frame, now);
    take();
  }
  /// The draft's answer to its frame: candidates for some of its rows.
  void guess(std::vector<std::pair<NodeId, std::vector<Candidate>>> guesses) {
    GuessFrame frame;
    frame.step = draftStep++;
    frame.timing = {.rows = 1, .left = 0, .busyNanos = 1000000};
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

  /// The nodes of the only launched frame.
  Nodes launched() const {
    EXPECT_LE(last.launches.size(), 1u);
    return last.launches.empty() ? Nodes() : nodesOf(last.launches.front());
  }
  Nodes drafted() const {
    EXPECT_LE(last.drafts.size(), 1u);
    return last.drafts.empty() ? Nodes() : nodesOf(last.drafts.front());
  }
  static Nodes nodesOf(const StepFrame &frame) {
    Nodes nodes;
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

/// Rows 0, 1 are the prompt; the draft has answered with nodes 2 (token 20) and
/// 3 (token 30) behind row 1, and both are in flight.
struct TwoGuesses : Script {
  TwoGuesses() {
    submit({5, 6});
    guess({{1, {{20, 0.8f}, {30, 0.5f}}}});
    wait(5);
    EXPECT_EQ(launched(), (Nodes{2, 3}));
  }
};

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

TEST(HeadTest, LimitsAndRequestsAreChecked) {
  SpeculationOptions options;
  HeadLimits limits = {.contextLength = 4, .hasDraft = false};
  auto message = [&] {
    return Head::create(limits, options, timesWith(0)).status().message();
  };
  EXPECT_EQ(message(), "head: speculation needs a draft");
  limits.hasDraft = true;
  EXPECT_EQ(message(), "");
  options.depth = 0;
  EXPECT_EQ(message(), "head: speculation depth is 0, below 1");
  options.depth = 5000;
  EXPECT_EQ(message(), "head: speculation depth is 5000, above 1024");
  options.depth = 4;
  limits.framesInFlight = 3;
  EXPECT_EQ(message(), "head: frames in flight is 3, below 4");
  limits.framesInFlight = 64;
  options.mode = SpeculationMode::Sync;
  options.splitRows = true;
  EXPECT_EQ(message(), "head: single rows of 128 guesses do not fit 64 frames "
                       "in flight");

  Script script;
  script.limits.contextLength = 4;
  script.submit({1, 2, 3, 4});
  RequestSpec spec;
  auto refused = [&] {
    return script.head->submit(spec, Time(0)).status().message();
  };
  EXPECT_EQ(refused(), "request: the prompt is empty");
  spec.prompt.assign(5, 1);
  EXPECT_EQ(refused(), "request: the prompt has 5 tokens, the context 4");
  spec.prompt.assign(1, 1);
  EXPECT_EQ(refused(), "request: all 1 slots are in use");
}

TEST(HeadTest, PromptLeavesInChunksAtOnce) {
  Script script;
  script.limits.prefillRows = 3;
  script.submit({10, 11, 12, 13, 14, 15, 16});
  ASSERT_EQ(script.last.launches.size(), 3u);
  for (const StepFrame &frame : script.last.launches) {
    EXPECT_EQ(frame.opens.size(), frame.step == 0 ? 1u : 0u);
    ASSERT_EQ(frame.marks.size(), 1u);
    EXPECT_EQ(frame.marks[0].confirmed, 6);
    for (const Row &row : frame.rows) {
      EXPECT_TRUE(row.certain);
      EXPECT_EQ(row.parent, row.node - 1);
      EXPECT_EQ(row.position, row.node);
      EXPECT_EQ(row.token, 10 + row.node);
      EXPECT_EQ(row.wantsOutput, row.node == 6);
    }
  }
  EXPECT_EQ(Script::nodesOf(script.last.launches[0]), (Nodes{0, 1, 2}));
  EXPECT_EQ(Script::nodesOf(script.last.launches[2]), (Nodes{6}));
  EXPECT_EQ(script.last.launches[0].opens[0].promptTokens, 7);

  // The draft gets the same, one frame after another, and goes on beyond it.
  ASSERT_EQ(script.drafted(), (Nodes{0, 1, 2}));
  EXPECT_EQ(script.last.drafts[0].opens.size(), 1u);
  script.guess({});
  ASSERT_EQ(script.drafted(), (Nodes{3, 4, 5}));
  EXPECT_TRUE(script.last.drafts[0].opens.empty());
  script.guess({});
  ASSERT_EQ(script.drafted(), (Nodes{6}));
  EXPECT_TRUE(script.last.drafts[0].rows[0].wantsOutput);
  EXPECT_TRUE(script.last.drafts[0].rows[0].certain);
  script.guess({{6, {{77, 0.9f}}}});
  EXPECT_EQ(script.drafted(), (Nodes{7}));
  script.wait(100);
  EXPECT_EQ(script.launched(), (Nodes{7}));
  EXPECT_FALSE(script.last.launches[0].rows[0].certain);
}

TEST(HeadTest, LongPromptWaitsForRoom) {
  Script script;
  script.limits.prefillRows = 1;
  script.limits.framesInFlight = 4;
  script.submit(Tokens(9, 1));
  ASSERT_EQ(script.last.launches.size(), 4u);
  EXPECT_FALSE(script.last.launches[0].rows[0].wantsOutput);
  EXPECT_TRUE(script.last.launches[1].rows[0].wantsOutput);
  script.result(1, 42);
  EXPECT_TRUE(script.tokens().empty());
  EXPECT_EQ(script.last.launches.size(), 2u);
  script.result(3, 42);
  EXPECT_EQ(script.last.launches.size(), 2u);
  script.result(5, 42);
  ASSERT_EQ(script.launched(), (Nodes{8}));
  script.result(7, 42);
  EXPECT_TRUE(script.tokens().empty());
  script.result(8, 42);
  EXPECT_EQ(script.tokens(), (Tokens{42}));
}

TEST(HeadTest, TheTextEndsExactlyOnce) {
  Script script;
  script.options.mode = SpeculationMode::Off;
  script.submit({1}, 2, {9});
  script.result(0, 3);
  EXPECT_EQ(script.tokens(), (Tokens{3}));
  EXPECT_TRUE(script.last.finished.empty());
  script.result(1, 4);
  EXPECT_EQ(script.tokens(), (Tokens{4}));
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Length);
  ASSERT_EQ(script.last.launches.size(), 1u);
  EXPECT_EQ(script.last.launches[0].closes, (std::vector<RequestId>{0}));

  // A stop token is no part of the text, also where the length is reached.
  script.submit({1}, 1, {9});
  script.result(2, 9);
  EXPECT_TRUE(script.tokens().empty());
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Stop);

  script.submit({1}, 0);
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Length);
  EXPECT_TRUE(script.last.launches.empty());
  EXPECT_EQ(script.head->holdings(), Head::Holdings());
}

TEST(HeadTest, TheContextEndsTheText) {
  Script script;
  script.limits.contextLength = 3;
  script.submit({1, 2});
  // Row 2 is the last that there is room for, so that nothing follows it.
  script.guess({{1, {{20, 0.9f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  script.wait(5);
  EXPECT_EQ(script.launched(), (Nodes{2}));
  script.result(1, 20);
  EXPECT_TRUE(script.last.finished.empty());
  script.result(2, 21);
  EXPECT_EQ(script.tokens(), (Tokens{21}));
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Length);
}

TEST(HeadTest, NoRowLeavesThatNoTokenNeeds) {
  Script script;
  script.submit({1}, 2);
  // Two tokens: the prompt's own, and one guess's.
  script.guess({{0, {{20, 0.9f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  script.wait(5);
  EXPECT_EQ(script.launched(), (Nodes{1}));

  Script one;
  one.submit({1}, 1);
  EXPECT_TRUE(one.last.drafts.empty());
}

TEST(HeadTest, FinishingLetsGoOfEverything) {
  TwoGuesses script;
  EXPECT_EQ(script.drafted(), Nodes());
  script.head->finish(0, FinishReason::Cancelled, script.now);
  script.take();
  ASSERT_EQ(script.last.finished.size(), 1u);
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Cancelled);
  ASSERT_EQ(script.last.cancels.size(), 1u);
  EXPECT_TRUE(script.last.cancels[0].ended);
  EXPECT_EQ(script.last.cancels[0].confirmed, 3);
  ASSERT_EQ(script.last.launches.size(), 1u);
  EXPECT_EQ(script.last.launches[0].closes.size(), 1u);
  EXPECT_EQ(script.counters().cancelled, 2);
  EXPECT_EQ(script.head->holdings(), Head::Holdings());
  script.head->finish(0, FinishReason::Error, script.now);
  script.take();
  EXPECT_TRUE(script.last.finished.empty());

  // The draft is told once it has answered, and then hears of the next request
  // in the slot, whose numbers go on.
  EXPECT_TRUE(script.last.drafts.empty());
  script.submit({8});
  EXPECT_EQ(script.launched(), (Nodes{4}));
  EXPECT_EQ(script.last.launches[0].opens[0].firstNode, 4);
  EXPECT_TRUE(script.last.drafts.empty());
  script.guess({});
  ASSERT_EQ(script.last.drafts.size(), 1u);
  EXPECT_EQ(script.last.drafts[0].closes.size(), 1u);
  EXPECT_TRUE(script.last.drafts[0].rows.empty());
  script.guess({});
  EXPECT_EQ(script.drafted(), (Nodes{4}));
  EXPECT_EQ(script.last.drafts[0].opens.size(), 1u);

  // Late answers to the request before mean nothing.
  script.result(1, 20);
  script.result(2, 21);
  EXPECT_TRUE(script.tokens().empty());
  EXPECT_EQ(script.counters().computedDead, 0);
  script.result(4, 21);
  EXPECT_EQ(script.tokens(), (Tokens{21}));
}

TEST(HeadTest, WhatTheUserEndsIsNotCountedAsWrong) {
  TwoGuesses script;
  script.result(1, 20);
  script.head->finish(0, FinishReason::Timeout, script.now);
  script.take();
  EXPECT_EQ(script.last.finished[0].reason, FinishReason::Timeout);
  script.result(2, 21); // came true before the end
  EXPECT_EQ(script.counters().computedDead, 0);
  script.result(3, 21); // did not
  EXPECT_EQ(script.counters().computedDead, 1);
  EXPECT_EQ(script.counters().accepted, 1);
  EXPECT_EQ(script.counters().cancelled, 1);
}

//===----------------------------------------------------------------------===//
// Verifying
//===----------------------------------------------------------------------===//

TEST(HeadTest, ARightGuessKeepsThePipeFull) {
  TwoGuesses script;
  script.result(1, 20);
  EXPECT_EQ(script.tokens(), (Tokens{20}));
  EXPECT_TRUE(script.launched().empty());
  ASSERT_EQ(script.last.cancels.size(), 1u); // for the sibling
  EXPECT_EQ(script.last.cancels[0].confirmed, 2);
  EXPECT_EQ(script.last.cancels[0].epoch, 1);
  EXPECT_FALSE(script.last.cancels[0].ended);
  EXPECT_EQ(script.counters().accepted, 1);
  EXPECT_EQ(script.counters().cancelled, 1);
  // The sibling's result may come all the same.
  script.result(3, 1);
  EXPECT_TRUE(script.tokens().empty());
  EXPECT_EQ(script.counters().computedDead, 1);
  script.result(2, 44);
  EXPECT_EQ(script.tokens(), (Tokens{44}));
}

TEST(HeadTest, NoCancelWhereNothingInFlightDied) {
  Script script;
  script.options.nodes = 1;
  script.submit({5, 6});
  script.guess({{1, {{20, 0.8f}, {30, 0.5f}}}});
  script.wait(5);
  EXPECT_EQ(script.launched(), (Nodes{2}));
  script.result(1, 20);
  EXPECT_TRUE(script.last.cancels.empty());
  EXPECT_EQ(script.counters().epochs, 0);
}

TEST(HeadTest, AWrongGuessDiesAndTheTruthLeavesAlone) {
  TwoGuesses script;
  script.result(1, 99);
  EXPECT_EQ(script.tokens(), (Tokens{99}));
  ASSERT_EQ(script.last.cancels.size(), 1u);
  ASSERT_EQ(script.last.launches.size(), 1u);
  const StepFrame &frame = script.last.launches[0];
  ASSERT_EQ(frame.rows.size(), 1u);
  const Row &row = frame.rows[0];
  EXPECT_EQ(script.last.cancels[0].confirmed, row.node);
  EXPECT_EQ(frame.marks[0].confirmed, row.node);
  EXPECT_GT(row.node, 3);
  EXPECT_EQ(row.parent, 1);
  EXPECT_EQ(row.position, 2);
  EXPECT_EQ(row.token, 99);
  EXPECT_TRUE(row.certain);
  EXPECT_EQ(script.counters().cancelled, 2);
  EXPECT_EQ(script.counters().epochs, 1);
}

TEST(HeadTest, AGuessThatWaitedLeavesAsCertain) {
  Script script;
  script.options.nodes = 1;
  script.submit({5, 6});
  script.guess({{1, {{20, 0.8f}, {30, 0.5f}}}});
  script.wait(5);
  script.result(1, 30);
  EXPECT_EQ(script.launched(), (Nodes{3}));
  EXPECT_TRUE(script.last.launches[0].rows[0].certain);
  EXPECT_EQ(script.last.cancels.size(), 1u);
  EXPECT_EQ(script.counters().accepted, 0);
  EXPECT_EQ(script.counters().launched, 1);
}

TEST(HeadTest, OneCancelForAllResultsOfAFrame) {
  TwoGuesses script;
  script.guess({{2, {{21, 0.8f}, {31, 0.5f}}}});
  Nodes more = script.launched();
  ASSERT_EQ(more.size(), 2u);
  ResultFrame frame;
  frame.results.push_back({1, 0, 20, {}});
  frame.results.push_back({2, 0, 99, {}});
  script.head->onResults(frame, script.now);
  script.take();
  EXPECT_EQ(script.tokens(), (Tokens{20, 99}));
  ASSERT_EQ(script.last.cancels.size(), 1u);
  EXPECT_EQ(script.last.cancels[0].epoch, 2);
  EXPECT_EQ(script.launched(), (Nodes{script.last.cancels[0].confirmed}));
}

TEST(HeadTest, WithoutCancelsMarksTravelWithRows) {
  Script script;
  script.options.cancel = false;
  script.submit({5, 6});
  script.guess({{1, {{20, 0.8f}}}});
  script.wait(5);
  script.result(1, 99);
  EXPECT_TRUE(script.last.cancels.empty());
  ASSERT_EQ(script.last.launches.size(), 1u);
  EXPECT_EQ(script.last.launches[0].marks[0].confirmed,
            script.last.launches[0].rows[0].node);
  script.head->finish(0, FinishReason::Cancelled, script.now);
  script.take();
  EXPECT_TRUE(script.last.cancels.empty());
}

//===----------------------------------------------------------------------===//
// Guessing
//===----------------------------------------------------------------------===//

TEST(HeadTest, OffAsksNoDraft) {
  Script script;
  script.options.mode = SpeculationMode::Off;
  script.submit({5, 6});
  EXPECT_TRUE(script.last.drafts.empty());
  script.result(1, 7);
  EXPECT_EQ(script.launched(), (Nodes{2}));
  EXPECT_TRUE(script.last.drafts.empty());
  EXPECT_FALSE(script.last.wake);
}

TEST(HeadTest, TheDraftExpandsTheLikeliestFirst) {
  Script script;
  script.options.draftRows = 2;
  script.submit({5});
  script.guess({{0, {{20, 0.5f}, {30, 0.4f}, {40, 0.3f}}}});
  EXPECT_EQ(script.drafted(), (Nodes{1, 2}));
  script.guess({{1, {{21, 0.9f}}}, {2, {{31, 0.1f}}}});
  // 0.45 behind node 1, 0.04 behind node 2, and 0.3.
  EXPECT_EQ(script.drafted(), (Nodes{3, 4}));
  EXPECT_EQ(script.last.drafts[0].marks.size(), 1u);
  EXPECT_EQ(script.last.drafts[0].marks[0].confirmed, 0);
  EXPECT_FALSE(script.last.drafts[0].rows[0].certain);
}

TEST(HeadTest, TheDraftIsSentWhatItDidNotAnswerFor) {
  TwoGuesses script;
  // Nodes 2 and 3 are with the draft. Both come true or die meanwhile, and then
  // one more row is confirmed.
  script.result(1, 20);
  script.result(2, 50);
  NodeId tip = script.launched().at(0);
  EXPECT_TRUE(script.last.drafts.empty());
  script.guess({});
  ASSERT_EQ(script.drafted(), (Nodes{2, tip}));
  const std::vector<Row> &rows = script.last.drafts[0].rows;
  EXPECT_TRUE(rows[0].certain);
  EXPECT_FALSE(rows[0].wantsOutput);
  EXPECT_TRUE(rows[1].certain);
  EXPECT_TRUE(rows[1].wantsOutput);
}

TEST(HeadTest, WhatTheDraftAnsweredIsNotSentAgain) {
  TwoGuesses script;
  script.result(1, 20);
  script.result(2, 50);
  NodeId tip = script.launched().at(0);
  script.guess({{2, {{51, 0.5f}}}});
  EXPECT_EQ(script.drafted(), (Nodes{tip}));
}

TEST(HeadTest, LimitsOfDepthWidthAndNodesHold) {
  Script script;
  script.options.depth = 2;
  script.options.width = 2;
  script.options.nodes = 3;
  script.notes = true;
  script.submit({5});
  script.guess({{0, {{20, 0.9f}, {30, 0.6f}, {40, 0.6f}}}});
  EXPECT_EQ(script.drafted(), (Nodes{1, 2}));
  // The draft knows three guesses as well.
  script.guess({{1, {{21, 0.9f}}}, {2, {{31, 0.9f}}}});
  EXPECT_EQ(script.drafted(), (Nodes{3}));
  script.guess({{3, {{22, 0.9f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  script.wait(5);
  EXPECT_EQ(script.launched(), (Nodes{1, 2, 3}));
  ASSERT_FALSE(script.last.notes.empty());
  EXPECT_EQ(script.last.notes.back().verdict, Verdict::NodeLimit);
  // A confirmed row makes room in width and in depth. Rows are numbered when
  // they are first sent.
  script.result(0, 20);
  script.wait(6);
  EXPECT_EQ(script.launched(), (Nodes{4}));
}

TEST(HeadTest, RowsThatCostMuchWaitForTheirSlot) {
  Script script;
  script.perRow = 9;
  script.notes = true;
  script.submit({5});
  script.guess({{0, {{20, 0.6f}}}});
  script.guess({{1, {{21, 0.6f}}}});
  EXPECT_TRUE(script.launched().empty());
  // The prompt's slot ends at 10 ms; the next one opens half-way.
  EXPECT_EQ(script.last.wake, millis(5));
  script.wait(5);
  EXPECT_EQ(script.launched(), (Nodes{1}));
  EXPECT_EQ(script.last.wake, millis(15));
  ASSERT_EQ(script.last.notes.size(), 2u);
  EXPECT_EQ(script.last.notes[0].verdict, Verdict::Sent);
  EXPECT_EQ(script.last.notes[1].verdict, Verdict::WaitsForSlot);
  EXPECT_EQ(script.last.notes[1].rowsInSlot, 1);
  script.wait(3);
  EXPECT_TRUE(script.last.notes.empty());
  script.wait(7);
  EXPECT_EQ(script.launched(), (Nodes{2}));
}

TEST(HeadTest, ADeadSlotEndsAtOnce) {
  Script script;
  script.perRow = 9;
  script.submit({5});
  script.guess({{0, {{20, 0.6f}}}});
  script.wait(5);
  EXPECT_EQ(script.launched(), (Nodes{1}));
  script.wait(6);
  // The guess's step is running when it dies, and the row that takes its place
  // starts a slot of its own now.
  script.result(0, 99);
  EXPECT_EQ(script.launched().size(), 1u);
  script.guess({});
  NodeId tip = script.drafted().at(0);
  script.guess({{tip, {{21, 0.9f}}}});
  EXPECT_EQ(script.last.wake, millis(16));
}

TEST(HeadTest, WithoutContinuityGuessesGoInBursts) {
  Script script;
  script.options.continuous = false;
  script.options.draftRows = 1;
  script.submit({5});
  script.guess({{0, {{20, 0.9f}}}});
  script.guess({{1, {{21, 0.9f}}}});
  script.wait(5);
  EXPECT_EQ(script.launched(), (Nodes{1}));
  script.guess({{2, {{22, 0.9f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  script.wait(10);
  EXPECT_TRUE(script.launched().empty());
  // It came true, so no guess is outstanding now.
  script.result(0, 20);
  EXPECT_EQ(script.launched(), (Nodes{2}));
}

TEST(HeadTest, MeasurementsReachThePolicy) {
  Script script;
  script.options.mode = SpeculationMode::Off;
  script.submit({5});
  script.result(0, 6);
  ResultFrame frame;
  frame.results.push_back({1, 0, 7, {}});
  frame.timings = {{.rows = 1, .left = 0, .busyNanos = 20000000},
                   {.rows = 1, .left = 0, .busyNanos = 30000000},
                   {.rows = 2, .left = 1, .busyNanos = 90000000}};
  script.now += millis(77);
  script.head->onResults(frame, script.now);
  script.take();
  EXPECT_EQ(script.head->policy().slot(1), millis(30));
  EXPECT_EQ(script.head->policy().times().roundTrip, millis(77));
}

TEST(HeadTest, RequestsShareFramesOfGuesses) {
  Script script;
  script.limits.requests = 2;
  script.submit({5});
  script.submit({6});
  EXPECT_EQ(script.launched(), (Nodes{0}));
  EXPECT_EQ(script.last.launches[0].rows[0].request, 1);
  script.guess({{0, {{20, 0.9f}}}});
  ASSERT_EQ(script.drafted().size(), 2u); // the second prompt, and a guess
  EXPECT_EQ(script.last.drafts[0].marks.size(), 2u);
  GuessFrame frame;
  frame.step = 1;
  frame.guesses.push_back({0, 1, {{60, 0.8f}}});
  script.head->onGuesses(frame, script.now);
  script.take();
  script.wait(50);
  ASSERT_EQ(script.launched(), (Nodes{1, 1}));
  EXPECT_EQ(script.last.launches[0].marks.size(), 2u);
  EXPECT_EQ(script.last.launches[0].rows[1].request, 1);
}

//===----------------------------------------------------------------------===//
// Sync mode
//===----------------------------------------------------------------------===//

TEST(HeadTest, SyncDraftsVerifiesAndWaits) {
  Script script;
  script.options = {.mode = SpeculationMode::Sync, .depth = 2, .width = 1};
  script.submit({5, 6});
  EXPECT_EQ(script.launched(), (Nodes{0, 1}));
  // The draft sees the prompt, but guesses only once its token is known.
  ASSERT_EQ(script.drafted(), (Nodes{0, 1}));
  EXPECT_FALSE(script.last.drafts[0].rows[1].wantsOutput);
  script.guess({});
  EXPECT_TRUE(script.last.drafts.empty());
  script.result(1, 7);
  EXPECT_TRUE(script.launched().empty());
  EXPECT_EQ(script.drafted(), (Nodes{2}));
  script.guess({{2, {{8, 0.5f}, {88, 0.4f}}}});
  EXPECT_EQ(script.drafted(), (Nodes{3}));
  script.guess({{3, {{9, 0.5f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  ASSERT_EQ(script.launched(), (Nodes{2, 3, 4}));
  EXPECT_TRUE(script.last.launches[0].rows[0].certain);
  EXPECT_FALSE(script.last.launches[0].rows[1].certain);

  // The first guess is right, the second is not.
  script.result(2, 8);
  script.result(3, 10);
  EXPECT_EQ(script.tokens(), (Tokens{10}));
  EXPECT_TRUE(script.last.cancels.empty());
  EXPECT_TRUE(script.last.drafts.empty());
  script.result(4, 1);
  NodeId tip = 5;
  EXPECT_EQ(script.drafted(), (Nodes{tip}));
  EXPECT_TRUE(script.last.launches.empty());
  script.guess({{tip, {}}});
  EXPECT_EQ(script.launched(), (Nodes{tip}));
  EXPECT_EQ(script.counters().launched, 2);
  EXPECT_EQ(script.counters().accepted, 1);
  EXPECT_EQ(script.counters().cancelled, 1);
  EXPECT_EQ(script.counters().computedDead, 1);
}

TEST(HeadTest, SyncTreeIsABeam) {
  Script script;
  script.options = {.mode = SpeculationMode::Sync, .depth = 2, .width = 2};
  script.submit({5});
  script.guess({});
  script.result(0, 7);
  script.guess({{1, {{20, 0.6f}, {30, 0.3f}, {40, 0.1f}}}});
  EXPECT_EQ(script.drafted(), (Nodes{2, 3}));
  script.guess({{2, {{21, 0.5f}, {22, 0.1f}}}, {3, {{31, 0.9f}, {32, 0.05f}}}});
  // Of the second level, 0.30 behind node 2 and 0.27 behind node 3.
  ASSERT_EQ(script.launched().size(), 5u);
  Tokens tokens;
  for (const Row &row : script.last.launches[0].rows)
    tokens.push_back(row.token);
  EXPECT_EQ(tokens, (Tokens{7, 20, 30, 21, 31}));
}

TEST(HeadTest, SyncSplitsABatchIntoRows) {
  Script script;
  script.options = {
      .mode = SpeculationMode::Sync, .depth = 2, .width = 1, .splitRows = true};
  script.submit({5});
  script.guess({});
  script.result(0, 7);
  script.guess({{1, {{20, 0.6f}}}});
  script.guess({{2, {{21, 0.6f}}}});
  ASSERT_EQ(script.last.launches.size(), 3u);
  for (const StepFrame &frame : script.last.launches)
    EXPECT_EQ(frame.rows.size(), 1u);
}

TEST(HeadTest, ReasonsHaveNames) {
  EXPECT_EQ(finishReasonName(FinishReason::Stop), "stop");
  EXPECT_EQ(finishReasonName(FinishReason::Length), "length");
  EXPECT_EQ(finishReasonName(FinishReason::Cancelled), "cancelled");
  EXPECT_EQ(finishReasonName(FinishReason::Timeout), "timeout");
  EXPECT_EQ(finishReasonName(FinishReason::Error), "error");
}

} // namespace
