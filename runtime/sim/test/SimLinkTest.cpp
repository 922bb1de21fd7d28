//===- SimLinkTest.cpp - when messages arrive -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/SimLink.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

namespace {

using Seen = std::vector<std::pair<int64_t, int>>;

struct Fixture {
  explicit Fixture(LinkTimes times, bool keepsOrder = true)
      : link(queue, times, keepsOrder, [this](int message) {
          seen.emplace_back(queue.now().count(), message);
        }) {}
  void run() {
    while (queue.runNext())
      ;
  }
  EventQueue queue;
  SimLink<int> link;
  Seen seen;
};

// One byte takes 1 ns, and the latency is 100 ns.
const LinkTimes plain{Time(100), 1e9};

TEST(LinkTest, MessagesWaitForThoseBeforeThem) {
  Fixture f(plain);
  EXPECT_EQ(f.link.send(1, 50, Time(0)), Time(150));
  EXPECT_EQ(f.link.send(2, 30, Time(0)), Time(180));
  f.run();
  EXPECT_EQ(f.seen, (Seen{{150, 1}, {180, 2}}));
  // The link is free again, so only size and latency count.
  f.link.send(3, 10, Time(0));
  f.run();
  EXPECT_EQ(f.seen.back(), (std::pair<int64_t, int>{290, 3}));
  EXPECT_EQ(f.link.counters().messages, 3u);
  EXPECT_EQ(f.link.counters().bytes, 90u);
}

TEST(LinkTest, DelaysKeepTheOrderOfALane) {
  Fixture f(plain);
  f.link.send(1, 10, Time(1000));
  f.link.send(2, 10, Time(0));
  f.run();
  EXPECT_EQ(f.seen, (Seen{{1110, 1}, {1110, 2}}));
}

TEST(LinkTest, LateCopiesAreOvertakenWhereThatIsAllowed) {
  Fixture f(plain, /*keepsOrder=*/false);
  f.link.send(1, 10, Time(1000));
  f.link.send(2, 10, Time(0));
  f.run();
  EXPECT_EQ(f.seen, (Seen{{120, 2}, {1110, 1}}));
}

TEST(LinkTest, APlantedFaultOvertakesWhateverTheLaneKeeps) {
  Fixture f(plain);
  f.link.send(1, 10, Time(0));
  f.link.send(2, 10, Time(0), /*overtakes=*/true);
  f.link.send(3, 10, Time(0));
  f.run();
  EXPECT_EQ(f.seen, (Seen{{0, 2}, {110, 1}, {130, 3}}));
}

TEST(LinkTest, WithoutABandwidthSizeDoesNotMatter) {
  Fixture f(LinkTimes{Time(5), 0});
  f.link.send(1, int64_t(1) << 40, Time(0));
  f.run();
  EXPECT_EQ(f.seen, (Seen{{5, 1}}));
}

TEST(LinkTest, SlotsAreUsedAgain) {
  Fixture f(plain);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i)
      f.link.send(round * 4 + i, 1, Time(0));
    f.run();
  }
  ASSERT_EQ(f.seen.size(), 20u);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(f.seen[i].second, i);
}

} // namespace
