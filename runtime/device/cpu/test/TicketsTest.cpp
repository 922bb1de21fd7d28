//===- TicketsTest.cpp - each item goes to one thread ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/Tickets.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace sluice::cpu;

TEST(Tickets, AreNumberedFromZeroForEachLoop) {
  Tickets tickets;
  EXPECT_EQ(tickets.take(0, 2), 0);
  EXPECT_EQ(tickets.take(0, 2), 1);
  EXPECT_EQ(tickets.take(0, 2), Tickets::none);
  EXPECT_EQ(tickets.take(0, 2), Tickets::none);
  // A loop without items, and some that no thread takes part in.
  EXPECT_EQ(tickets.take(1, 0), Tickets::none);
  EXPECT_EQ(tickets.take(7, 2), 0);
  EXPECT_EQ(tickets.take(7, 2), 1);
}

TEST(Tickets, NothingIsLeftOfALoopThatAnotherThreadHasLeft) {
  Tickets tickets;
  EXPECT_EQ(tickets.take(3, 1), 0);
  EXPECT_EQ(tickets.take(4, 2), 0);
  EXPECT_EQ(tickets.take(3, 1), Tickets::none);
  EXPECT_EQ(tickets.take(4, 2), 1);
}

TEST(Tickets, StartAgainWhenReset) {
  Tickets tickets;
  tickets.take(5, 1);
  tickets.reset();
  EXPECT_EQ(tickets.take(0, 1), 0);
}

/// Threads go through many loops without any barrier. The loops have different
/// sizes, some none. The items are plain memory, so an item that is given out
/// twice is also a data race.
TEST(Tickets, EveryItemOfEveryLoopIsTakenOnce) {
  constexpr int64_t threads = 4, loops = 3000;
  auto itemsOf = [](int64_t loop) { return loop * 7 % 11; };
  std::vector<std::vector<int>> taken;
  for (int64_t loop = 0; loop < loops; ++loop)
    taken.emplace_back(itemsOf(loop));
  Tickets tickets;
  std::vector<std::thread> team;
  for (int64_t thread = 0; thread < threads; ++thread)
    team.emplace_back([&] {
      for (int64_t loop = 0; loop < loops; ++loop) {
        int64_t item;
        while ((item = tickets.take(uint32_t(loop), itemsOf(loop))) !=
               Tickets::none)
          ++taken[size_t(loop)][size_t(item)];
      }
    });
  for (std::thread &each : team)
    each.join();
  for (const std::vector<int> &items : taken)
    for (int count : items)
      EXPECT_EQ(count, 1);
}
