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

TEST(EpochBoardTest, MarksOutOfRangeAreIgnored) {
  EpochBoard board(2);
  EXPECT_FALSE(board.publish({2, 0, 1, false}));
  EXPECT_FALSE(board.publish({-1, 0, 1, false}));
  EXPECT_FALSE(board.publish({0, 0, -2, true}));
  EXPECT_FALSE(
      board.publish({0, 0, std::numeric_limits<NodeId>::max(), false}));
  EXPECT_EQ(board.changes(), 0u);
}

/// Threads publish the same marks in orders of their own while one reads: what
/// it sees only ever gets newer, a count that it has seen stands for marks that
/// it sees, and in the end the newest mark is there.
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
      // Each change moved one request on by at least one node.
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
