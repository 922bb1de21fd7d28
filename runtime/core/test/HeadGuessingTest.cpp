//===- HeadGuessingTest.cpp - which guesses the head sends ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests rule by rule, in Async and in Sync mode, which rows the head sends to
// the draft and which guesses it sends to the stages.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/HeadScript.h"

using namespace sluice;
using namespace sluice::test;

namespace {

//===----------------------------------------------------------------------===//
// Guessing
//===----------------------------------------------------------------------===//

TEST(HeadGuessingTest, OffAsksNoDraft) {
  Script script;
  script.options.mode = SpeculationMode::Off;
  script.submit({5, 6});
  EXPECT_TRUE(script.last.drafts.empty());
  script.result(1, 7);
  EXPECT_EQ(script.launched(), (NodeIds{2}));
  EXPECT_TRUE(script.last.drafts.empty());
  EXPECT_FALSE(script.last.wake);
}

TEST(HeadGuessingTest, TheDraftExpandsTheLikeliestFirst) {
  Script script;
  script.options.draftRows = 2;
  script.submit({5});
  script.guess({{0, {{20, 0.5f}, {30, 0.4f}, {40, 0.3f}}}});
  EXPECT_EQ(script.drafted(), (NodeIds{1, 2}));
  script.guess({{1, {{21, 0.9f}}}, {2, {{31, 0.1f}}}});
  // 0.45 below node 1, 0.04 below node 2, and 0.3.
  EXPECT_EQ(script.drafted(), (NodeIds{3, 4}));
  EXPECT_EQ(script.last.drafts[0].marks.size(), 1u);
  EXPECT_EQ(script.last.drafts[0].marks[0].confirmed, 0);
  EXPECT_FALSE(script.last.drafts[0].rows[0].certain);
}

TEST(HeadGuessingTest, TheDraftIsSentWhatItDidNotAnswerFor) {
  TwoGuesses script;
  // Nodes 2 and 3 are with the draft. Meanwhile one comes true and the other
  // dies, and then one more row is confirmed.
  script.result(1, 20);
  script.result(2, 50);
  NodeId tip = script.launched().at(0);
  EXPECT_TRUE(script.last.drafts.empty());
  script.guess({});
  ASSERT_EQ(script.drafted(), (NodeIds{2, tip}));
  const std::vector<Row> &rows = script.last.drafts[0].rows;
  EXPECT_TRUE(rows[0].certain);
  EXPECT_FALSE(rows[0].wantsOutput);
  EXPECT_TRUE(rows[1].certain);
  EXPECT_TRUE(rows[1].wantsOutput);
}

TEST(HeadGuessingTest, WhatTheDraftAnsweredIsNotSentAgain) {
  TwoGuesses script;
  script.result(1, 20);
  script.result(2, 50);
  NodeId tip = script.launched().at(0);
  script.guess({{2, {{51, 0.5f}}}});
  EXPECT_EQ(script.drafted(), (NodeIds{tip}));
}

TEST(HeadGuessingTest, LimitsOfDepthWidthAndNodesHold) {
  Script script;
  script.options.depth = 2;
  script.options.width = 2;
  script.options.nodes = 3;
  script.notes = true;
  script.submit({5});
  script.guess({{0, {{20, 0.9f}, {30, 0.6f}, {40, 0.6f}}}});
  EXPECT_EQ(script.drafted(), (NodeIds{1, 2}));
  // The draft knows three guesses as well.
  script.guess({{1, {{21, 0.9f}}}, {2, {{31, 0.9f}}}});
  EXPECT_EQ(script.drafted(), (NodeIds{3}));
  script.guess({{3, {{22, 0.9f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  script.wait(5);
  EXPECT_EQ(script.launched(), (NodeIds{1, 2, 3}));
  ASSERT_FALSE(script.last.notes.empty());
  EXPECT_EQ(script.last.notes.back().verdict, Verdict::NodeLimit);
  // A confirmed row makes room in width and in depth. Rows are numbered when
  // they are first sent.
  script.result(0, 20);
  script.wait(6);
  EXPECT_EQ(script.launched(), (NodeIds{4}));
}

TEST(HeadGuessingTest, RowsThatCostMuchWaitForTheirSlot) {
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
  EXPECT_EQ(script.launched(), (NodeIds{1}));
  EXPECT_EQ(script.last.wake, millis(15));
  ASSERT_EQ(script.last.notes.size(), 2u);
  EXPECT_EQ(script.last.notes[0].verdict, Verdict::Sent);
  EXPECT_EQ(script.last.notes[1].verdict, Verdict::WaitsForSlot);
  EXPECT_EQ(script.last.notes[1].rowsInSlot, 1);
  script.wait(3);
  EXPECT_TRUE(script.last.notes.empty());
  script.wait(7);
  EXPECT_EQ(script.launched(), (NodeIds{2}));
}

TEST(HeadGuessingTest, ADeadSlotEndsAtOnce) {
  Script script;
  script.perRow = 9;
  script.submit({5});
  script.guess({{0, {{20, 0.6f}}}});
  script.wait(5);
  EXPECT_EQ(script.launched(), (NodeIds{1}));
  script.wait(6);
  // The guess's step is running when the guess dies. The row that takes its
  // place starts a slot of its own now.
  script.result(0, 99);
  EXPECT_EQ(script.launched().size(), 1u);
  script.guess({});
  NodeId tip = script.drafted().at(0);
  script.guess({{tip, {{21, 0.9f}}}});
  EXPECT_EQ(script.last.wake, millis(16));
}

TEST(HeadGuessingTest, WithoutContinuityGuessesGoInBursts) {
  Script script;
  script.options.continuous = false;
  script.options.draftRows = 1;
  script.submit({5});
  script.guess({{0, {{20, 0.9f}}}});
  script.guess({{1, {{21, 0.9f}}}});
  script.wait(5);
  EXPECT_EQ(script.launched(), (NodeIds{1}));
  script.guess({{2, {{22, 0.9f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  script.wait(10);
  EXPECT_TRUE(script.launched().empty());
  // The guess came true, so no guess is outstanding now.
  script.result(0, 20);
  EXPECT_EQ(script.launched(), (NodeIds{2}));
}

TEST(HeadGuessingTest, MeasurementsReachThePolicy) {
  Script script;
  script.options.mode = SpeculationMode::Off;
  script.submit({5});
  script.result(0, 6);
  ResultFrame frame;
  frame.results.push_back({1, 0, 7, {}});
  frame.timings = {{.rows = 1, .departed = 0, .busyNanos = 20000000},
                   {.rows = 1, .departed = 0, .busyNanos = 30000000},
                   {.rows = 2, .departed = 1, .busyNanos = 90000000}};
  script.now += millis(77);
  script.head->onResults(frame, script.now);
  script.take();
  EXPECT_EQ(script.head->policy().slot(1), millis(30));
  EXPECT_EQ(script.head->policy().times().roundTrip, millis(77));
}

TEST(HeadGuessingTest, RequestsShareFramesOfGuesses) {
  Script script;
  script.limits.requests = 2;
  script.limits.stages = 2;
  script.submit({5});
  script.submit({6});
  EXPECT_EQ(script.launched(), (NodeIds{0}));
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
  ASSERT_EQ(script.launched(), (NodeIds{1, 1}));
  EXPECT_EQ(script.last.launches[0].marks.size(), 2u);
  EXPECT_EQ(script.last.launches[0].rows[1].request, 1);
}

//===----------------------------------------------------------------------===//
// Sync mode
//===----------------------------------------------------------------------===//

TEST(HeadGuessingTest, SyncDraftsVerifiesAndWaits) {
  Script script;
  script.options = {.mode = SpeculationMode::Sync, .depth = 2, .width = 1};
  script.submit({5, 6});
  EXPECT_EQ(script.launched(), (NodeIds{0, 1}));
  // The draft gets the prompt, but guesses only once the prompt's token is
  // known.
  ASSERT_EQ(script.drafted(), (NodeIds{0, 1}));
  EXPECT_FALSE(script.last.drafts[0].rows[1].wantsOutput);
  script.guess({});
  EXPECT_TRUE(script.last.drafts.empty());
  script.result(1, 7);
  EXPECT_TRUE(script.launched().empty());
  EXPECT_EQ(script.drafted(), (NodeIds{2}));
  script.guess({{2, {{8, 0.5f}, {88, 0.4f}}}});
  EXPECT_EQ(script.drafted(), (NodeIds{3}));
  script.guess({{3, {{9, 0.5f}}}});
  EXPECT_TRUE(script.last.drafts.empty());
  ASSERT_EQ(script.launched(), (NodeIds{2, 3, 4}));
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
  EXPECT_EQ(script.drafted(), (NodeIds{tip}));
  EXPECT_TRUE(script.last.launches.empty());
  script.guess({{tip, {}}});
  EXPECT_EQ(script.launched(), (NodeIds{tip}));
  EXPECT_EQ(script.counters().launched, 2);
  EXPECT_EQ(script.counters().accepted, 1);
  EXPECT_EQ(script.counters().cancelled, 1);
  EXPECT_EQ(script.counters().computedDead, 1);
}

TEST(HeadGuessingTest, SyncTreeIsABeam) {
  Script script;
  script.options = {.mode = SpeculationMode::Sync, .depth = 2, .width = 2};
  script.submit({5});
  script.guess({});
  script.result(0, 7);
  script.guess({{1, {{20, 0.6f}, {30, 0.3f}, {40, 0.1f}}}});
  EXPECT_EQ(script.drafted(), (NodeIds{2, 3}));
  script.guess({{2, {{21, 0.5f}, {22, 0.1f}}}, {3, {{31, 0.9f}, {32, 0.05f}}}});
  // Of the second level: 0.30 below node 2 and 0.27 below node 3.
  ASSERT_EQ(script.launched().size(), 5u);
  Tokens tokens;
  for (const Row &row : script.last.launches[0].rows)
    tokens.push_back(row.token);
  EXPECT_EQ(tokens, (Tokens{7, 20, 30, 21, 31}));
}

TEST(HeadGuessingTest, SyncSplitsABatchIntoRows) {
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

} // namespace
