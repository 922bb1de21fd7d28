//===- SlotClockTest.cpp - slots follow one another -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/SlotClock.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

Time millis(double count) { return Time(static_cast<int64_t>(count * 1e6)); }

/// A step of r rows takes 10 + r ms.
SpeculationPolicy policy() {
  std::array<Time, StepTimes::rowCounts.size()> steps;
  for (size_t i = 0; i < steps.size(); ++i)
    steps[i] = millis(10 + StepTimes::rowCounts[i]);
  return SpeculationPolicy(
      {}, {StepTimes(steps), millis(50), millis(1), StepTimes(steps)});
}

TEST(SlotClockTest, RowsStartASlotWhereNoneRuns) {
  SpeculationPolicy p = policy();
  SlotClock clock;
  EXPECT_FALSE(clock.opens());
  uint64_t first = clock.join(1, millis(3), p);
  EXPECT_EQ(first, clock.runningSlot());
  EXPECT_EQ(clock.opens(), millis(3 + 5.5));
  EXPECT_FALSE(clock.opensNext(p));
  clock.advance(millis(14), p);
  EXPECT_FALSE(clock.opens());
}

TEST(SlotClockTest, RowsGatherWhileASlotRuns) {
  SpeculationPolicy p = policy();
  SlotClock clock;
  uint64_t first = clock.join(1, millis(0), p);
  uint64_t second = clock.join(2, millis(1), p);
  EXPECT_EQ(second, clock.join(1, millis(2), p));
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(clock.gatheringSlot(), second);
  EXPECT_EQ(clock.gatheringRows(), 3);
  EXPECT_EQ(clock.opensNext(p), millis(11 + 6.5));
  clock.advance(millis(12), p);
  EXPECT_EQ(clock.runningSlot(), second);
  EXPECT_EQ(clock.gatheringRows(), 0);
  // It began when the first slot ended, not when it was looked at.
  EXPECT_EQ(clock.opens(), millis(11 + 6.5));
  clock.advance(millis(24), p);
  EXPECT_FALSE(clock.opens());
}

TEST(SlotClockTest, AFrameIsInOneSlot) {
  SpeculationPolicy p = policy();
  SlotClock clock;
  uint64_t first = clock.join(1, millis(0), p);
  clock.widen(first, 3, p);
  EXPECT_EQ(clock.gatheringRows(), 0);
  EXPECT_EQ(clock.opens(), millis(7));
  uint64_t second = clock.join(1, millis(7), p);
  EXPECT_GT(second, first);
  clock.widen(second, 1, p);
  EXPECT_EQ(clock.gatheringRows(), 2);
  EXPECT_EQ(clock.opens(), millis(7));
  EXPECT_EQ(clock.opensNext(p), millis(14 + 6));
}

TEST(SlotClockTest, ASoleSlotComesBehindEverything) {
  SpeculationPolicy p = policy();
  SlotClock clock;
  clock.join(1, millis(0), p);
  uint64_t gathered = clock.join(1, millis(0), p);
  uint64_t sole = clock.joinAlone(6, millis(0), p);
  EXPECT_GT(sole, gathered);
  EXPECT_EQ(clock.gatheringRows(), 0);
  EXPECT_EQ(clock.opens(), millis(22 + 8));
  EXPECT_GT(clock.join(1, millis(5), p), sole);
}

TEST(SlotClockTest, SlotsShrinkWhenRowsDie) {
  SpeculationPolicy p = policy();
  SlotClock clock;
  clock.join(4, millis(0), p);
  clock.join(2, millis(1), p);
  clock.setLiving(1, 1, millis(2), p);
  EXPECT_EQ(clock.gatheringRows(), 1);
  EXPECT_EQ(clock.opens(), millis(5.5));
  // No rows are left in the running slot, so the next one starts now.
  clock.setLiving(0, 1, millis(4), p);
  EXPECT_EQ(clock.opens(), millis(4 + 5.5));
  EXPECT_EQ(clock.gatheringRows(), 0);
  clock.setLiving(0, 0, millis(5), p);
  EXPECT_FALSE(clock.opens());
}

} // namespace
