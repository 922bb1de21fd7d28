//===- InvariantsTest.cpp - invariants and their violations ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Invariants.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

namespace {

TEST(ArrivalOrderTest, SeesOnlyWhatIsOvertaken) {
  ArrivalOrder order;
  for (uint64_t number = 0; number < 5; ++number)
    ASSERT_EQ(order.send(), number);
  EXPECT_TRUE(order.arrive(0).ok());
  EXPECT_TRUE(order.arrive(2).ok()) << "1 may be lost";
  EXPECT_TRUE(order.arrive(2).ok()) << "it may come twice";
  EXPECT_EQ(order.arrive(1).message(), "message 1 was overtaken by message 2");
  EXPECT_TRUE(order.arrive(4).ok());
}

/// Returns the head's frame `number`, with guesses of request 0 in a chain:
/// each node's parent is the node before.
StepFrame frameOf(uint64_t number, std::vector<NodeId> nodes) {
  StepFrame frame;
  frame.launched = number;
  for (NodeId node : nodes) {
    Row row;
    row.node = node;
    row.parent = node == 0 ? noNode : node - 1;
    row.position = static_cast<int32_t>(node);
    frame.rows.push_back(row);
  }
  return frame;
}

StepFrame openingFrame(uint64_t number, NodeId first,
                       std::vector<NodeId> nodes) {
  StepFrame frame = frameOf(number, std::move(nodes));
  OpenRequest open;
  open.firstNode = first;
  frame.opens.push_back(open);
  frame.rows.front().parent = noNode;
  return frame;
}

/// Two stages. Rows 0 and 1 left in frame 1, row 2 in frame 2, and row 3 in
/// frame 3.
struct ThreeFrames {
  ThreeFrames() {
    EXPECT_TRUE(turns.launch(openingFrame(1, 0, {0, 1})).ok());
    EXPECT_TRUE(turns.launch(frameOf(2, {2})).ok());
    EXPECT_TRUE(turns.launch(frameOf(3, {3})).ok());
  }
  RowTurns turns{/*requests=*/1, /*stages=*/2};
};

TEST(RowTurnsTest, FramesMayBeSplitAndFusedAndRowsDie) {
  ThreeFrames f;
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {0})).ok());
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {2, 1})).ok());
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {3})).ok());
  EXPECT_TRUE(f.turns.arrive(1, frameOf(0, {0, 3})).ok());
}

TEST(RowTurnsTest, RowsThatComeOutOfTurnAreSeen) {
  ThreeFrames f;
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {0, 1, 3})).ok());
  EXPECT_EQ(f.turns.arrive(0, frameOf(0, {2})).message(),
            "request 0: row 2 has come out of turn, behind row 3");
  EXPECT_TRUE(f.turns.arrive(1, frameOf(0, {0, 1, 2})).ok())
      << "each stage is looked at by itself";
}

TEST(RowTurnsTest, AnswersComeInTurnAsWell) {
  ThreeFrames f;
  ResultFrame late, early;
  late.results.push_back({3, 0, 7, {}});
  early.results.push_back({2, 0, 7, {}});
  EXPECT_TRUE(f.turns.answer(late).ok());
  EXPECT_EQ(f.turns.answer(early).message(),
            "request 0: row 2 has come out of turn, behind row 3");
}

TEST(RowTurnsTest, ARowThatLeavesAgainHasANewTurn) {
  ThreeFrames f;
  EXPECT_TRUE(f.turns.launch(frameOf(4, {2})).ok());
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {3})).ok());
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {2})).ok());
  EXPECT_FALSE(f.turns.arrive(0, frameOf(0, {2})).ok());
}

TEST(RowTurnsTest, WhatWasNeverLaunchedOrIsOverDoesNotCome) {
  ThreeFrames f;
  EXPECT_EQ(f.turns.arrive(0, frameOf(0, {4})).message(),
            "request 0: row 4 has come out of turn: it is not under way");
  ResultFrame answer;
  answer.launched = 2;
  EXPECT_TRUE(f.turns.answer(answer).ok());
  EXPECT_FALSE(f.turns.arrive(0, frameOf(0, {2})).ok());
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {3})).ok());
}

TEST(RowTurnsTest, ParentsLeaveFirst) {
  ThreeFrames f;
  EXPECT_EQ(f.turns.launch(frameOf(4, {5})).message(),
            "request 0: row 5 leaves before its parent, row 4");
  EXPECT_TRUE(f.turns.launch(frameOf(5, {7, 6})).ok())
      << "a frame's rows are in any order";
}

TEST(RowTurnsTest, ASlotIsUsedAgainWithOtherNodes) {
  ThreeFrames f;
  EXPECT_TRUE(f.turns.launch(openingFrame(4, 9, {9, 10})).ok());
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {3})).ok());
  EXPECT_TRUE(f.turns.arrive(0, frameOf(0, {9, 10})).ok());
  EXPECT_EQ(f.turns.launch(frameOf(5, {4})).message(),
            "request 0: row 4 leaves, but its rows begin at 9");
}

RequestEnd endOf(RequestNumber number, FinishReason reason,
                 bool started = true) {
  RequestEnd end;
  end.number = number;
  end.reason = reason;
  end.started = started;
  return end;
}

TEST(DeadlinesTest, NothingIsTakenUpBehindOneThatHasPassed) {
  Deadlines deadlines(Time(0));
  deadlines.submit(1, Time(100), Time(10));
  deadlines.submit(2, std::nullopt, Time(10));
  EXPECT_TRUE(deadlines.takeUp(Time(100)).ok());
  EXPECT_EQ(deadlines.takeUp(Time(130)).message(),
            "request number 1 goes on 30 ns after its deadline");
  EXPECT_TRUE(deadlines.end(endOf(1, FinishReason::Timeout), Time(101)).ok());
  EXPECT_TRUE(deadlines.takeUp(Time(130)).ok());
}

TEST(DeadlinesTest, OneThatHadPassedBeforeCountsOnceItIsKnown) {
  Deadlines deadlines(Time(0));
  deadlines.submit(1, Time(100), Time(150));
  EXPECT_TRUE(deadlines.takeUp(Time(150)).ok());
  EXPECT_FALSE(deadlines.takeUp(Time(151)).ok());
}

TEST(DeadlinesTest, NoneEndsBeforeItsTime) {
  Deadlines deadlines(Time(0));
  deadlines.submit(1, Time(100), Time(10));
  EXPECT_EQ(deadlines.end(endOf(1, FinishReason::Timeout), Time(99)).message(),
            "request number 1 ends as a timeout before its deadline");
  deadlines.submit(2, std::nullopt, Time(10));
  EXPECT_FALSE(deadlines.end(endOf(2, FinishReason::Timeout), Time(99)).ok());
  deadlines.submit(3, Time(100), Time(10));
  EXPECT_TRUE(deadlines.end(endOf(3, FinishReason::Stop), Time(99)).ok());
  EXPECT_FALSE(deadlines.end(endOf(3, FinishReason::Stop), Time(99)).ok())
      << "it has ended already";
}

TEST(DeadlinesTest, OneThatWaitsCanHaveAnEarlierEnd) {
  Deadlines deadlines(Time(50));
  for (RequestNumber number : {1, 2, 3})
    deadlines.submit(number, std::nullopt, Time(10));
  bool started = false;
  EXPECT_TRUE(
      deadlines.end(endOf(1, FinishReason::Timeout, started), Time(60)).ok());
  EXPECT_FALSE(
      deadlines.end(endOf(2, FinishReason::Timeout, started), Time(59)).ok());
  EXPECT_FALSE(deadlines.end(endOf(3, FinishReason::Timeout), Time(60)).ok())
      << "it has started";
}

} // namespace
