//===- HeadQuietTest.cpp - frames that follow after silence ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests the frames without rows that the head sends if no answer comes, so that
// their receiver notices that an earlier frame was lost.
//
//===----------------------------------------------------------------------===//

#include "HeadScript.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// A request of two tokens, without guesses, whose row is under way.
struct OneUnderWay : Script {
  explicit OneUnderWay(double quiet) {
    options.mode = SpeculationMode::Off;
    limits.hasDraft = false;
    limits.quiet = millis(quiet);
    submit({5, 6});
    EXPECT_EQ(launched(), (NodeIds{0, 1}));
  }

  /// Waits and returns whether a frame without rows has left, and nothing else.
  bool followsAfter(double time) {
    wait(time);
    bool isEmpty = last.launches.size() == 1 && last.launches[0].isTombstone();
    EXPECT_TRUE(isEmpty || last.launches.empty());
    return isEmpty;
  }
};

TEST(HeadQuietTest, WithoutAQuietTimeNothingFollows) {
  OneUnderWay script(0);
  EXPECT_FALSE(script.last.wake);
  EXPECT_FALSE(script.followsAfter(1e6));
}

TEST(HeadQuietTest, EachFollowsAfterTwiceTheTime) {
  OneUnderWay script(100);
  EXPECT_EQ(script.last.wake, millis(100));
  EXPECT_FALSE(script.followsAfter(99));
  EXPECT_EQ(script.last.wake, millis(100)) << "it was woken for another reason";
  EXPECT_TRUE(script.followsAfter(1));
  EXPECT_EQ(script.last.wake, millis(300));
  EXPECT_FALSE(script.followsAfter(199));
  EXPECT_TRUE(script.followsAfter(1));
  EXPECT_EQ(script.last.wake, millis(700));
}

/// The frame is counted, so that its receiver can tell what is missing.
TEST(HeadQuietTest, ItIsCountedAsAllFramesAre) {
  OneUnderWay script(100);
  ASSERT_TRUE(script.followsAfter(100));
  EXPECT_EQ(script.last.launches[0].step, 1u);
  EXPECT_EQ(script.last.launches[0].launched, 2u);
}

TEST(HeadQuietTest, AnAnswerBeginsTheTimeAgain) {
  OneUnderWay script(100);
  ASSERT_TRUE(script.followsAfter(100));
  script.result(1, 7);
  EXPECT_EQ(script.launched(), NodeIds{2});
  EXPECT_EQ(script.last.wake, millis(200));
  EXPECT_TRUE(script.followsAfter(100));
}

/// If a round trip took longer than the quiet time, there would always be such
/// a frame under way.
TEST(HeadQuietTest, ThatOneComesBackIsNoAnswer) {
  OneUnderWay script(100);
  ASSERT_TRUE(script.followsAfter(100));
  script.now += millis(10);
  script.passed(2);
  EXPECT_EQ(script.last.wake, millis(300));
}

TEST(HeadQuietTest, WhereNothingIsUnderWayNothingFollows) {
  OneUnderWay script(100);
  script.head->finish(0, FinishReason::Cancelled, script.now);
  script.take();
  ASSERT_EQ(script.last.launches.size(), 1u) << "the close is under way";
  EXPECT_TRUE(script.last.wake);
  script.passed(2);
  EXPECT_FALSE(script.last.wake);
  EXPECT_FALSE(script.followsAfter(1e6));
}

TEST(HeadQuietTest, ItWaitsForRoom) {
  Script script;
  script.options.mode = SpeculationMode::Off;
  script.limits = {.requests = 4, .contextLength = 100, .prefillRows = 1};
  script.limits.framesInFlight = 4;
  script.limits.stages = 8;
  script.limits.quiet = millis(100);
  script.submit({5, 6, 7, 8, 9, 10});
  EXPECT_EQ(script.last.launches.size(), 4u);
  script.wait(100);
  EXPECT_TRUE(script.last.launches.empty());
  EXPECT_EQ(script.last.wake, millis(300));
}

} // namespace
