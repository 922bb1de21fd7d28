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

TEST(Tickets, AreNumberedFromZeroForEachWork) {
  Tickets tickets;
  EXPECT_EQ(tickets.take(0, 2), 0);
  EXPECT_EQ(tickets.take(0, 2), 1);
  EXPECT_EQ(tickets.take(0, 2), Tickets::none);
  EXPECT_EQ(tickets.take(0, 2), Tickets::none);
  // A work without items, and some that nobody comes to.
  EXPECT_EQ(tickets.take(1, 0), Tickets::none);
  EXPECT_EQ(tickets.take(7, 2), 0);
  EXPECT_EQ(tickets.take(7, 2), 1);
}

TEST(Tickets, NothingIsLeftOfAWorkThatAnotherThreadHasLeft) {
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

/// Threads that meet nowhere go through many works, each of another size, some
/// of none. Plain memory: an item given out twice is a data race as well.
TEST(Tickets, EveryItemOfEveryWorkIsTakenOnce) {
  constexpr int64_t threads = 4, works = 3000;
  auto itemsOf = [](int64_t work) { return work * 7 % 11; };
  std::vector<std::vector<int>> taken;
  for (int64_t work = 0; work < works; ++work)
    taken.emplace_back(itemsOf(work));
  Tickets tickets;
  std::vector<std::thread> team;
  for (int64_t thread = 0; thread < threads; ++thread)
    team.emplace_back([&] {
      for (int64_t work = 0; work < works; ++work) {
        int64_t item;
        while ((item = tickets.take(uint32_t(work), itemsOf(work))) !=
               Tickets::none)
          ++taken[size_t(work)][size_t(item)];
      }
    });
  for (std::thread &each : team)
    each.join();
  for (const std::vector<int> &items : taken)
    for (int count : items)
      EXPECT_EQ(count, 1);
}
