//===- EventQueueTest.cpp - the order of events ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/EventQueue.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

namespace {

struct Recorder final : EventTarget {
  explicit Recorder(EventQueue &queue) : queue(queue) {}
  void onEvent(uint64_t what) override {
    seen.emplace_back(queue.now().count(), what);
    if (what == 100)
      queue.schedule(Time(1), *this, 101); // a time in the past counts as now
  }
  EventQueue &queue;
  std::vector<std::pair<int64_t, uint64_t>> seen;
};

using Seen = std::vector<std::pair<int64_t, uint64_t>>;

TEST(EventQueueTest, EventsHappenInTheOrderOfTheirTimes) {
  EventQueue queue;
  Recorder recorder(queue);
  queue.schedule(Time(30), recorder, 3);
  queue.schedule(Time(10), recorder, 1);
  queue.schedule(Time(20), recorder, 2);
  while (queue.runNext())
    ;
  EXPECT_EQ(recorder.seen, (Seen{{10, 1}, {20, 2}, {30, 3}}));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.happened(), 3u);
}

TEST(EventQueueTest, TiesGoByTheOrderOfScheduling) {
  EventQueue queue;
  Recorder recorder(queue);
  for (uint64_t i = 0; i < 50; ++i)
    queue.schedule(Time(7), recorder, i);
  while (queue.runNext())
    ;
  ASSERT_EQ(recorder.seen.size(), 50u);
  for (uint64_t i = 0; i < 50; ++i)
    EXPECT_EQ(recorder.seen[i].second, i);
}

TEST(EventQueueTest, TimeNeverGoesBack) {
  EventQueue queue;
  Recorder recorder(queue);
  queue.schedule(Time(50), recorder, 100);
  queue.schedule(Time(60), recorder, 5);
  while (queue.runNext())
    ;
  EXPECT_EQ(recorder.seen, (Seen{{50, 100}, {50, 101}, {60, 5}}));
}

} // namespace
