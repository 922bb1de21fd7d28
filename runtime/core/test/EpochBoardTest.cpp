//===- EpochBoardTest.cpp - the newest mark wins everywhere ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/EpochBoard.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace sluice;

namespace {

using State = EpochBoard::State;

TEST(EpochBoardTest, TheNewestMarkStays) {
  EpochBoard board(2);
  EXPECT_EQ(board.get(1), (State{noNode, false}));
  EXPECT_TRUE(board.publish({1, 0, 7, false}));
  EXPECT_FALSE(board.publish({1, 0, 7, false})); // again
  EXPECT_FALSE(board.publish({1, 9, 3, false})); // late
  EXPECT_FALSE(board.publish({1, 9, 3, true}));
  EXPECT_EQ(board.get(1), (State{7, false}));
  EXPECT_EQ(board.changes(), 1u);
  EXPECT_TRUE(board.publish({1, 0, 7, true}));
  EXPECT_EQ(board.get(1), (State{7, true}));
  EXPECT_FALSE(board.publish({1, 0, 7, false}));
  // The slot's next request.
  EXPECT_TRUE(board.publish({1, 0, 8, false}));
  EXPECT_EQ(board.get(1), (State{8, false}));
  EXPECT_EQ(board.changes(), 3u);
  EXPECT_EQ(board.get(0), (State{noNode, false}));
}

TEST(EpochBoardTest, ARequestCanEndBeforeAnythingIsConfirmed) {
  EpochBoard board(1);
  EXPECT_TRUE(board.publish({0, 0, noNode, true}));
  EXPECT_EQ(board.get(0), (State{noNode, true}));
}

/// Each cancel keeps its own time, even if a frame's mark came before it.
TEST(EpochBoardTest, CancelsKeepTheirTimes) {
  EpochBoard board(2);
  auto isNode = [](NodeId node) {
    return [node](const State &cancel) { return cancel.confirmed == node; };
  };
  EXPECT_TRUE(board.publish({1, 0, 4, false}, Time(100)));
  EXPECT_TRUE(board.publish({1, 0, 9, false}));             // with a frame
  EXPECT_FALSE(board.publish({1, 0, 6, false}, Time(200))); // late
  EXPECT_FALSE(board.publish({1, 0, 6, false}, Time(300))); // again
  EXPECT_TRUE(board.publish({1, 0, 9, true}, Time(400)));
  EXPECT_EQ(board.decidedWhen(1, isNode(4)), Time(100));
  EXPECT_EQ(board.decidedWhen(1, isNode(6)), Time(200));
  EXPECT_EQ(board.decidedWhen(1, isNode(9)), Time(400));
  EXPECT_EQ(board.decidedWhen(1, isNode(5)), std::nullopt);
  EXPECT_EQ(board.decidedWhen(0, isNode(4)), std::nullopt);
  // The oldest of several cancels, as far as they are remembered.
  for (NodeId node = 10; node < 100; ++node)
    board.publish({1, 0, node, false}, Time(node * 100));
  EXPECT_EQ(board.decidedWhen(1, isNode(4)), std::nullopt);
  EXPECT_EQ(board.decidedWhen(
                1, [](const State &each) { return each.confirmed >= 98; }),
            Time(9800));
}

TEST(EpochBoardTest, MarksOutOfRangeAreIgnored) {
  EpochBoard board(2);
  EXPECT_FALSE(board.publish({2, 0, 1, false}));
  EXPECT_FALSE(board.publish({-1, 0, 1, false}));
  EXPECT_FALSE(board.publish({0, 0, -2, true}));
  EXPECT_FALSE(
      board.publish({0, 0, std::numeric_limits<NodeId>::max(), false}));
  EXPECT_EQ(board.changes(), 0u);
}

/// Threads publish the same marks, each in its own order, while one thread
/// reads. What it sees only gets newer, it sees the marks behind each count,
/// and in the end it sees the newest mark.
TEST(EpochBoardTest, ThreadsSeeMarksOnlyGetNewer) {
  constexpr int64_t requests = 3, newest = 2000;
  EpochBoard board(requests);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    std::vector<NodeId> seen(requests, noNode);
    while (!stop.load()) {
      uint64_t changes = board.changes();
      uint64_t confirmed = 0;
      for (RequestId request = 0; request < requests; ++request) {
        State now = board.get(request);
        ASSERT_GE(now.confirmed, seen[request]);
        seen[request] = now.confirmed;
        confirmed += static_cast<uint64_t>(now.confirmed + 1);
      }
      // Each change advanced one request by at least one node.
      ASSERT_GE(confirmed, changes);
    }
  });
  std::vector<std::thread> writers;
  for (int64_t step : {1, 3, 7, 11})
    writers.emplace_back([&, step] {
      for (NodeId node = 0; node <= newest; ++node)
        board.publish({static_cast<RequestId>(node % requests), 0,
                       node * step % (newest + 1), false});
      for (RequestId request = 0; request < requests; ++request)
        board.publish({request, 0, newest, false});
    });
  for (std::thread &writer : writers)
    writer.join();
  stop = true;
  reader.join();
  for (RequestId request = 0; request < requests; ++request)
    EXPECT_EQ(board.get(request), (State{newest, false}));
}

} // namespace
