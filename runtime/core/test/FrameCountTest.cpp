//===- FrameCountTest.cpp - lost and repeated frames are detected ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/FrameCount.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

TEST(FrameCountTest, TakesFramesInTurn) {
  FrameCount count;
  for (uint64_t step = 0; step < 5; ++step)
    EXPECT_TRUE(count.take(step).ok());
}

TEST(FrameCountTest, SaysHowManyAreLost) {
  FrameCount count;
  EXPECT_EQ(count.take(1).message(), "frame 1 has come where 0 is due: 1 lost");
  ASSERT_TRUE(count.take(0).ok());
  EXPECT_EQ(count.take(4).message(), "frame 4 has come where 1 is due: 3 lost");
  EXPECT_TRUE(count.take(1).ok()) << "an error changes nothing";
}

TEST(FrameCountTest, RefusesWhatHasComeAlready) {
  FrameCount count;
  ASSERT_TRUE(count.take(0).ok());
  ASSERT_TRUE(count.take(1).ok());
  for (uint64_t step : {0, 1})
    EXPECT_EQ(count.take(step).message(),
              "frame " + std::to_string(step) + " has come again: 2 is due");
  EXPECT_TRUE(count.take(2).ok());
}

} // namespace
