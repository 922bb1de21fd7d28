//===- StageTest.cpp - rows find their branch and leave it ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/StageHarness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

StageLimits smallLimits() {
  StageLimits limits;
  limits.rows = 64;
  limits.outputs = 64;
  limits.requests = 2;
  limits.branches = 8;
  limits.nodes = 16;
  limits.contextLength = 128;
  limits.frames = 4;
  return limits;
}

Row certain(NodeId node, int32_t position, RequestId request = 0) {
  return makeRow(request, node, node - 1, position, true);
}
Row guess(NodeId node, NodeId parent, int32_t position, RequestId request = 0) {
  return makeRow(request, node, parent, position, false);
}
EpochMark confirm(NodeId node, RequestId request = 0) {
  return {request, 0, node, false};
}

class StageTest : public ::testing::Test {
protected:
  explicit StageTest(int64_t pages = 32) : harness(smallLimits(), pages) {}

  Nodes send(StepFrame frame) {
    harness.enqueue(std::move(frame));
    return nodesOf(harness.drain());
  }
  Stage &stage() { return harness.stage; }
  int64_t branches() { return stage().holdings().branches; }

  void end(RequestId request = 0) {
    send(closing(request));
    harness.expectEmpty();
  }

  StageHarness harness;
};

TEST_F(StageTest, ACertainRunContinuesItsBranch) {
  EXPECT_EQ(send(opening(3)), (Nodes{0, 1, 2}));
  EXPECT_EQ(send(frameOf({certain(3, 3)})), (Nodes{3}));
  EXPECT_EQ(branches(), 1);
  EXPECT_EQ(stage().holdings(), (Stage::Holdings{1, 1, 1, 0}));
  EXPECT_EQ(stage().counters().steps, 2u);
  EXPECT_EQ(stage().counters().rows, 4u);
  end();
}

/// The last guess of a branch is wrong: the branch is cut back by one row.
TEST_F(StageTest, AMissAtTheTipCutsIt) {
  send(opening(3));
  send(frameOf({guess(3, 2, 3)}));
  StepFrame frame = frameOf({makeRow(0, 4, 2, 3, true)});
  frame.marks = {confirm(4)};
  EXPECT_EQ(send(frame), (Nodes{4}));
  EXPECT_EQ(branches(), 1);
  EXPECT_EQ(harness.pages.length(0), 4);
  // Rows that were cut are dead, and so are their late children.
  EXPECT_EQ(send(frameOf({guess(5, 3, 4)})), (Nodes{}));
  EXPECT_EQ(stage().counters().droppedAtMailbox, 1u);
  end();
}

/// A guess in the middle of a long branch is wrong: the right part stays, in
/// the same branch, without a copy.
TEST_F(StageTest, AMissMidBranchCutsWhatIsBehindIt) {
  send(opening(30));
  send(frameOf({guess(30, 29, 30), guess(31, 30, 31), guess(32, 31, 32),
                guess(33, 32, 33)}));
  EXPECT_EQ(harness.pages.pages(0).size(), 2u);
  StepFrame frame = frameOf({makeRow(0, 34, 30, 31, true)});
  frame.marks = {confirm(34)};
  harness.enqueue(frame);
  ASSERT_TRUE(*stage().formStep());
  EXPECT_TRUE(stage().pageCopies().empty());
  EXPECT_EQ(harness.pages.length(0), 32);
  EXPECT_EQ(harness.pages.pages(0).size(), 1u);
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_EQ(outgoing.marks.size(), 1u);
  EXPECT_EQ(branches(), 1);
  end();
}

/// Everything is in one step: nothing that the forks need is in the cache yet.
TEST_F(StageTest, AForkOfAForkWithinOneStepIsMirrored) {
  StepFrame frame = opening(3);
  for (Row row : {guess(3, 2, 3), guess(4, 2, 3), guess(5, 4, 4),
                  guess(6, 4, 4), guess(7, 6, 5)})
    frame.rows.push_back(row);
  harness.enqueue(frame);
  ASSERT_TRUE(*stage().formStep());
  // Branch by branch: 0 1 2 3, then 4 5 forked after 2, 6 7 after 4.
  EXPECT_EQ(nodesOf(stage().rows()), (Nodes{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(std::vector(stage().batch().sequences().begin(),
                        stage().batch().sequences().end()),
            (std::vector<SequenceId>{0, 0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(std::vector(stage().batch().mirrors().begin(),
                        stage().batch().mirrors().end()),
            (std::vector<Mirror>{
                {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 2}}));
  EXPECT_EQ(stage().pageCopies().size(), 2u);
  StepFrame outgoing;
  stage().finishStep(outgoing);

  // The same with what an executor would store, and then again on top of it.
  send(closing());
  send(frame = [&] {
    StepFrame again = opening(3, 0, 8);
    for (Row row : {guess(11, 10, 3), guess(12, 10, 3), guess(13, 12, 4),
                    guess(14, 12, 4), guess(15, 14, 5)})
      again.rows.push_back(row);
    return again;
  }());
  EXPECT_EQ(send(frameOf({guess(16, 13, 5), guess(17, 14, 5)})),
            (Nodes{16, 17}));
  EXPECT_EQ(branches(), 4);
  end();
}

TEST_F(StageTest, AForkAtAPageBoundarySharesAllAndCopiesNothing) {
  send(opening(31));
  harness.enqueue(
      frameOf({guess(31, 30, 31), guess(32, 31, 32), guess(33, 31, 32)}));
  ASSERT_TRUE(*stage().formStep());
  EXPECT_TRUE(stage().pageCopies().empty());
  EXPECT_TRUE(stage().batch().mirrors().empty());
  EXPECT_EQ(harness.pages.pages(0)[0], harness.pages.pages(1)[0]);
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_EQ(stage().holdings().pages, 3);
  end();
}

/// A row that is sent again as certain is computed again, and the rows after it
/// stay.
TEST_F(StageTest, ARowCanBeSentAgain) {
  send(opening(2));
  send(frameOf({guess(2, 1, 2), guess(3, 2, 3)}));
  EXPECT_EQ(send(frameOf({makeRow(0, 3, 2, 3, true)})), (Nodes{3})); // the tip
  EXPECT_EQ(branches(), 1);
  EXPECT_EQ(send(frameOf({makeRow(0, 2, 1, 2, true)})), (Nodes{2}));
  EXPECT_EQ(branches(), 2);
  EXPECT_EQ(send(frameOf({guess(4, 3, 4), guess(5, 2, 3)})), (Nodes{4, 5}));
  // Once the confirmed row is known, branches without it are closed.
  StepFrame frame = frameOf({guess(6, 4, 5)});
  frame.marks = {confirm(4)};
  EXPECT_EQ(send(frame), (Nodes{6}));
  EXPECT_EQ(branches(), 1);
  end();
}

TEST_F(StageTest, ARowThatComesTwiceInAStepIsComputedOnce) {
  send(opening(2));
  Row first = guess(2, 1, 2);
  first.wantsOutput = false;
  harness.enqueue(frameOf({first}));
  harness.enqueue(frameOf({makeRow(0, 2, 1, 2, true)}));
  StepFrame outgoing;
  ASSERT_TRUE(harness.step(outgoing));
  ASSERT_EQ(nodesOf(outgoing.rows), (Nodes{2}));
  EXPECT_TRUE(outgoing.rows[0].certain);
  EXPECT_TRUE(outgoing.rows[0].wantsOutput);
  EXPECT_EQ(stage().counters().repeated, 1u);
  end();
}

TEST_F(StageTest, AMarkCanComeBeforeTheRowItNames) {
  send(opening(2));
  send(frameOf({guess(2, 1, 2)}));
  harness.board.publish(confirm(5));
  // Node 5 is not here yet: all older guesses are dead, and no branch is
  // closed.
  EXPECT_EQ(send(frameOf({guess(3, 2, 3), guess(4, 1, 2)})), (Nodes{}));
  EXPECT_EQ(branches(), 1);
  EXPECT_EQ(send(frameOf({makeRow(0, 5, 1, 2, true), guess(6, 5, 3)})),
            (Nodes{5, 6}));
  EXPECT_EQ(branches(), 1);
  // Old marks, and repeated ones, are no news.
  harness.board.publish(confirm(2));
  harness.board.publish(confirm(5));
  EXPECT_EQ(send(frameOf({guess(7, 6, 4)})), (Nodes{7}));
  end();
}

TEST_F(StageTest, RowsLeaveAtTheCheckpointAfterTheMark) {
  send(opening(2));
  harness.enqueue(frameOf({guess(2, 1, 2), guess(3, 2, 3)}));
  harness.enqueue(frameOf({guess(4, 1, 2), guess(5, 4, 3), guess(6, 4, 3)}));
  ASSERT_TRUE(*stage().formStep());
  EXPECT_TRUE(stage().checkpoint().empty());
  harness.board.publish(confirm(4));
  std::span<const RowMove> moves = stage().checkpoint();
  EXPECT_EQ(std::vector(moves.begin(), moves.end()),
            (std::vector<RowMove>{{3, 0}, {4, 1}}));
  EXPECT_EQ(nodesOf(stage().rows()), (Nodes{5, 6, 4}));
  EXPECT_EQ(stage().origins()[0].frame, 2u);
  EXPECT_EQ(stage().origins()[0].frameRow, 1);
  EXPECT_EQ(stage().batch().rows(), 3);
  EXPECT_EQ(stage().batch().positions()[2], 2);
  EXPECT_TRUE(stage().checkpoint().empty());
  harness.board.publish(confirm(6));
  EXPECT_EQ(stage().checkpoint().size(), 1u);
  // Row 4 is no answer any more, but row 6 attends to it.
  EXPECT_EQ(nodesOf(stage().rows()), (Nodes{4, 6}));
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_EQ(stage().counters().departedAtCheckpoint, 3u);
  EXPECT_EQ(stage().counters().checkpoints, 2u + 4u);
  end();
}

/// The device passes checkpoints by itself: dead rows are marked, and leave
/// when it says.
TEST_F(StageTest, RowsLeaveAsADeviceSays) {
  send(opening(2));
  harness.enqueue(frameOf({guess(2, 1, 2), guess(3, 2, 3)}));
  harness.enqueue(frameOf({guess(4, 1, 2), guess(5, 4, 3), guess(6, 4, 3)}));
  ASSERT_TRUE(*stage().formStep());
  std::vector<uint8_t> alive(5, 1);
  EXPECT_FALSE(stage().findDead(alive));
  harness.board.publish(confirm(4));
  EXPECT_TRUE(stage().findDead(alive));
  Nodes dead;
  for (size_t row = 0; row < alive.size(); ++row)
    if (!alive[row])
      dead.push_back(stage().rows()[row].node);
  EXPECT_EQ(dead, (Nodes{2, 3}));
  // The rows are marked and still here; there is no news.
  EXPECT_EQ(stage().batch().rows(), 5);
  EXPECT_FALSE(stage().findDead(alive));
  // One of them was too late to leave.
  std::vector<uint8_t> stays(5, 1);
  for (size_t row = 0; row < 5; ++row)
    stays[row] = stage().rows()[row].node != 3;
  EXPECT_EQ(stage().leave(stays).size(), 1u);
  EXPECT_EQ(stage().batch().rows(), 4);
  EXPECT_TRUE(stage().dropOrphans().empty());
  EXPECT_EQ(stage().batch().rows(), 4);
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_EQ(stage().counters().departedAtCheckpoint, 1u);
  end();
}

/// The device may remove a parent and keep its children, which died as well.
TEST_F(StageTest, ARowWhoseParentADeviceTookOutLeavesBehindTheStep) {
  send(opening(2));
  harness.enqueue(frameOf({guess(2, 1, 2), guess(3, 2, 3), guess(5, 3, 4)}));
  harness.enqueue(frameOf({guess(4, 1, 2)}));
  ASSERT_TRUE(*stage().formStep());
  harness.board.publish(confirm(4), Time(100));
  std::vector<uint8_t> alive(4, 1);
  ASSERT_TRUE(stage().findDead(alive));
  std::vector<uint8_t> stays(4, 1);
  for (size_t row = 0; row < 4; ++row)
    stays[row] = stage().rows()[row].node != 2;
  SequenceId sequence = stage().batch().sequences()[0];
  EXPECT_EQ(harness.pages.length(sequence), 5);
  stage().leave(stays);
  EXPECT_EQ(stage().batch().rows(), 3);
  std::span<const RowMove> moves = stage().dropOrphans();
  EXPECT_EQ(std::vector(stage().cancelsOfDeparted().begin(),
                        stage().cancelsOfDeparted().end()),
            std::vector<Time>{Time(100)});
  ASSERT_EQ(nodesOf(stage().rows()), (Nodes{4}));
  EXPECT_LE(moves.size(), 1u);
  // The sampler gets the tokens of the living row.
  std::span<const int32_t> tokens = stage().outputOf(0);
  EXPECT_EQ(std::vector(tokens.begin(), tokens.end()),
            (std::vector<int32_t>{28}));
  EXPECT_EQ(stage().batch().outputs(), 1);
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_EQ(nodesOf(outgoing.rows), (Nodes{4}));
  EXPECT_EQ(stage().counters().departedAtCheckpoint, 3u);
  EXPECT_EQ(stage().counters().checkpoints, 2u + 1u);
  // The orphans are not in their branch, nor is the row that left.
  EXPECT_EQ(harness.pages.length(sequence), 2);
  end();
}

/// On a device, rows are marked as dead long before it is known that they have
/// left; other news comes in between.
TEST_F(StageTest, ADevicesRowsAreOfTheCancelThatNamedThem) {
  send(opening(2));
  harness.enqueue(frameOf({guess(2, 1, 2), guess(3, 2, 3)}));
  harness.enqueue(frameOf({guess(4, 1, 2), guess(5, 4, 3), guess(6, 4, 3)}));
  ASSERT_TRUE(*stage().formStep());
  std::vector<uint8_t> alive(5, 1);
  harness.board.publish(confirm(4), Time(100));
  ASSERT_TRUE(stage().findDead(alive));
  harness.board.publish(confirm(6), Time(200));
  ASSERT_TRUE(stage().findDead(alive));
  std::vector<uint8_t> stays;
  for (const Row &row : stage().rows())
    stays.push_back(row.node != 2 && row.node != 3);
  uint64_t before = stage().counters().checkpoints;
  EXPECT_TRUE(stage().leave({}).empty());
  stage().leave(stays);
  EXPECT_EQ(std::vector(stage().cancelsOfDeparted().begin(),
                        stage().cancelsOfDeparted().end()),
            std::vector<Time>{Time(100)});
  stays.clear();
  for (const Row &row : stage().rows())
    stays.push_back(row.node != 5);
  stage().leave(stays);
  EXPECT_EQ(std::vector(stage().cancelsOfDeparted().begin(),
                        stage().cancelsOfDeparted().end()),
            std::vector<Time>{Time(200)});
  // Checkpoints without departures count too, as when the host passes them.
  EXPECT_EQ(stage().counters().checkpoints, before + 3);
  stage().dropOrphans();
  StepFrame outgoing;
  stage().finishStep(outgoing);
  end();
}

/// Two cancels come between two checkpoints: each counts from its own decision,
/// and an older one, which these rows survived, does not count.
TEST_F(StageTest, RowsThatLeaveAreOfTheCancelThatKilledThem) {
  auto cancels = [&] {
    return std::vector(stage().cancelsOfDeparted().begin(),
                       stage().cancelsOfDeparted().end());
  };
  send(opening(2));
  harness.board.publish(confirm(1), Time(100));
  harness.enqueue(frameOf({guess(2, 1, 2), guess(3, 2, 3), guess(4, 1, 2),
                           guess(5, 4, 3), guess(6, 4, 3), guess(7, 6, 4)}));
  ASSERT_TRUE(*stage().formStep());
  harness.board.publish(confirm(4), Time(200)); // 2 and 3 die
  harness.board.publish(confirm(6), Time(300)); // 5 dies
  EXPECT_EQ(stage().checkpoint().size(), 2u);
  EXPECT_EQ(nodesOf(stage().rows()), (Nodes{6, 7, 4}));
  EXPECT_EQ(cancels(), (std::vector<Time>{Time(200), Time(300)}));
  // Killed by a mark that a frame brought and whose cancel is still under way.
  // Rows 4 and 6 had stayed only because row 7 attends to them.
  harness.board.publish({0, 0, 8, false});
  stage().checkpoint();
  EXPECT_EQ(stage().batch().rows(), 0);
  EXPECT_EQ(cancels(), std::vector<Time>{});
  StepFrame outgoing;
  stage().finishStep(outgoing);
  end();
}

/// One definition for all counters: rows enter a step, and some leave it.
TEST_F(StageTest, CountersAddUp) {
  send(opening(2));
  send(frameOf({guess(2, 1, 2), guess(3, 2, 3)}));
  harness.enqueue(frameOf({guess(4, 1, 2), guess(5, 4, 3)}));
  ASSERT_TRUE(*stage().formStep());
  harness.board.publish({0, 0, 3, false});
  stage().checkpoint();
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_EQ(stage().counters().steps, 3u);
  EXPECT_EQ(stage().counters().rows, 6u);
  EXPECT_EQ(stage().counters().departedAtCheckpoint, 2u);
  EXPECT_EQ(stage().counters().guesses, 2u);
  end();
}

/// A row that has left is in no layer's cache after that point, so nothing
/// continues it.
TEST_F(StageTest, WhatHasLeftIsForgotten) {
  send(opening(2));
  harness.beforeCheckpoint = [&](int layer) {
    harness.board.publish(confirm(layer == 0 ? 4 : 6));
  };
  EXPECT_EQ(send(frameOf({guess(2, 1, 2), guess(3, 2, 3), guess(4, 1, 2),
                          guess(5, 4, 3), guess(6, 4, 3)})),
            (Nodes{4, 6}));
  EXPECT_EQ(send(frameOf({guess(7, 3, 4), guess(8, 5, 4), guess(9, 6, 4)})),
            (Nodes{9}));
  EXPECT_EQ(branches(), 1);
  // Not even if the row after it comes later as a certain row.
  EXPECT_EQ(send(frameOf({makeRow(0, 10, 5, 4, true)})), (Nodes{}));
  end();
}

TEST_F(StageTest, AStepWhoseRowsHaveAllDiedIsATombstone) {
  send(opening(2));
  harness.enqueue(frameOf({guess(2, 1, 2)}));
  ASSERT_TRUE(*stage().formStep());
  harness.board.publish({0, 0, 2, true});
  EXPECT_TRUE(stage().checkpoint().empty());
  EXPECT_EQ(stage().batch().rows(), 0);
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_TRUE(outgoing.isTombstone());
  EXPECT_TRUE(outgoing.marks.empty());
  EXPECT_EQ(stage().counters().tombstones, 1u);
  // The next stage only has to pass it on.
  harness.enqueue(StepFrame());
  ASSERT_TRUE(harness.step(outgoing));
  EXPECT_TRUE(outgoing.isTombstone());
  EXPECT_FALSE(*stage().formStep());
  end();
}

TEST_F(StageTest, ASlotIsUsedAgain) {
  send(opening(40));
  // The close and the slot's next request after it are both in the mailbox;
  // they cannot share a step.
  StepFrame last = closing();
  last.marks = {{0, 0, 39, true}};
  harness.enqueue(std::move(last));
  harness.enqueue(opening(3, 0, 40));
  StepFrame outgoing;
  ASSERT_TRUE(harness.step(outgoing));
  EXPECT_EQ(outgoing.closes, (std::vector<RequestId>{0}));
  EXPECT_TRUE(outgoing.opens.empty());
  ASSERT_TRUE(harness.step(outgoing));
  EXPECT_EQ(nodesOf(outgoing.rows), (Nodes{40, 41, 42}));
  EXPECT_EQ(outgoing.opens.size(), 1u);
  // A late mark of the slot's last request.
  harness.board.publish(confirm(17));
  EXPECT_EQ(send(frameOf({guess(43, 42, 3)})), (Nodes{43}));
  end();
}

TEST_F(StageTest, ARequestThatHasEndedIsDeadUntilItCloses) {
  send(opening(3));
  harness.board.publish({0, 0, 5, true});
  EXPECT_EQ(send(frameOf({certain(3, 3), guess(4, 3, 4)})), (Nodes{}));
  EXPECT_EQ(stage().holdings().requests, 1);
  end();
}

TEST_F(StageTest, ManyRequestsShareAStep) {
  send(opening(3, 0));
  send(opening(5, 1, 7));
  EXPECT_EQ(send(frameOf({guess(12, 11, 5, 1), certain(3, 3, 0),
                          guess(13, 11, 5, 1), guess(4, 3, 4, 0)})),
            (Nodes{3, 4, 12, 13}));
  EXPECT_EQ(branches(), 3);
  // The end of one request does not affect the other.
  harness.board.publish({0, 0, 5, true});
  EXPECT_EQ(send(frameOf({guess(5, 4, 5, 0), guess(14, 12, 6, 1)})),
            (Nodes{14}));
  send(closing(0));
  EXPECT_EQ(branches(), 2);
  end(1);
}

} // namespace
