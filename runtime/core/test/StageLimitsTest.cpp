//===- StageLimitsTest.cpp - what a stage splits and refuses --------------===//
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
  limits.rows = 4;
  limits.outputs = 2;
  limits.requests = 2;
  limits.branches = 4;
  limits.nodes = 8;
  limits.contextLength = 64;
  limits.frames = 2;
  return limits;
}

/// The opens of a frame go with its first step, its closes with its last, and
/// its timings with each.
TEST(StageLimitsTest, AFrameIsSplitOverSteps) {
  StageHarness harness(smallLimits(), 16);
  StepFrame frame = opening(6);
  frame.closes.push_back(0);
  frame.marks.push_back({0, 3, noNode, false});
  frame.timings.push_back({6, 0, 17, 4});
  harness.enqueue(frame);
  EXPECT_EQ(harness.stage.firstFrameInUse(), 0u);
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(out.step, 0u);
  EXPECT_EQ(nodesOf(out.rows), (Nodes{0, 1, 2, 3}));
  EXPECT_EQ(out.opens.size(), 1u);
  EXPECT_EQ(out.marks.size(), 1u);
  EXPECT_TRUE(out.closes.empty());
  ASSERT_EQ(out.timings.size(), 1u);
  EXPECT_EQ(harness.stage.firstFrameInUse(), 0u);
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(out.step, 1u);
  EXPECT_EQ(nodesOf(out.rows), (Nodes{4, 5}));
  EXPECT_TRUE(out.opens.empty());
  EXPECT_EQ(out.closes.size(), 1u);
  EXPECT_EQ(out.timings[0].busyNanos, 17);
  EXPECT_EQ(harness.stage.firstFrameInUse(), 1u);
  EXPECT_FALSE(harness.step(out));
  harness.expectEmpty();
}

/// Tombstones have no timings: those of the rows that share their step stay.
TEST(StageLimitsTest, TimingsAreThoseOfTheLastFrameThatHasSome) {
  StageHarness harness(smallLimits(), 16);
  StepFrame frame = opening(2);
  frame.timings.push_back({2, 0, 17, 4});
  harness.enqueue(frame);
  harness.enqueue(StepFrame());
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(out.rows.size(), 2u);
  ASSERT_EQ(out.timings.size(), 1u);
  EXPECT_EQ(out.timings[0].busyNanos, 17);
}

TEST(StageLimitsTest, AStepHasNoMoreOutputsThanItsLimit) {
  StageHarness harness(smallLimits(), 16);
  harness.enqueue(opening(3));
  harness.drain();
  harness.enqueue(
      frameOf({makeRow(0, 3, 2, 3, false), makeRow(0, 4, 3, 4, false),
               makeRow(0, 5, 4, 5, false)}));
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{3, 4}));
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{5}));
}

TEST(StageLimitsTest, WithoutFusionEachFrameIsAStep) {
  StageLimits limits = smallLimits();
  for (bool fuse : {true, false}) {
    limits.fuse = fuse;
    StageHarness harness(limits, 16);
    harness.enqueue(opening(1));
    harness.drain();
    harness.enqueue(frameOf({makeRow(0, 1, 0, 1, false)}));
    harness.enqueue(frameOf({makeRow(0, 2, 1, 2, false)}));
    StepFrame out;
    ASSERT_TRUE(harness.step(out));
    EXPECT_EQ(nodesOf(out.rows), fuse ? (Nodes{1, 2}) : (Nodes{1}));
    EXPECT_EQ(harness.step(out), !fuse);
  }
}

/// The first token does not wait for guesses after it.
TEST(StageLimitsTest, GuessesDoNotJoinAPrompt) {
  StageHarness harness(smallLimits(), 16);
  harness.enqueue(opening(2));
  harness.enqueue(frameOf({makeRow(0, 2, 1, 2, false)}));
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{0, 1}));
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{2}));
}

/// Rows come from the stage before in any order; the origins tell which is
/// which.
TEST(StageLimitsTest, RowsAreSortedAndKeepTheirOrigins) {
  StageHarness harness(smallLimits(), 16);
  StepFrame frame = opening(3);
  std::swap(frame.rows[0], frame.rows[2]);
  harness.enqueue(std::move(frame));
  ASSERT_TRUE(*harness.stage.formStep());
  EXPECT_EQ(nodesOf(harness.stage.rows()), (Nodes{0, 1, 2}));
  for (int row = 0; row < 3; ++row)
    EXPECT_EQ(harness.stage.origins()[row].frameRow, 2 - row);
}

std::string refused(Stage &stage, StepFrame frame) {
  int64_t queued = stage.queued();
  Expected<uint64_t> number = stage.enqueue(std::move(frame));
  EXPECT_FALSE(number);
  EXPECT_EQ(stage.queued(), queued);
  return number.status().message();
}

TEST(StageLimitsTest, TheMailboxRefusesWhatCannotBeRight) {
  StageHarness harness(smallLimits(), 16);
  Stage &stage = harness.stage;
  auto row = [&](Row row) { return refused(stage, frameOf({row})); };
  EXPECT_EQ(row(makeRow(0, 0, noNode, 0, true)),
            "stage: a row of request 0, which is not open");
  harness.enqueue(opening(3, 0, 5));
  EXPECT_EQ(row(makeRow(2, 0, noNode, 0, true)),
            "stage: no slot for request 2, of 2");
  EXPECT_EQ(row(makeRow(0, 8, 4, 3, true)),
            "stage: request 0 has nodes from 5, but a row 8 behind 4");
  EXPECT_EQ(row(makeRow(0, 8, 8, 3, true)),
            "stage: request 0 has nodes from 5, but a row 8 behind 8");
  EXPECT_EQ(row(makeRow(0, 8, 7, 64, true)),
            "stage: request 0: position 64 is not in the context of 64");
  EXPECT_EQ(row(makeRow(0, 8, 7, 0, true)),
            "stage: request 0: row 8 at position 0 has one");
  EXPECT_EQ(row(makeRow(0, 8, noNode, 0, false)),
            "stage: request 0: row 8 at position 0 has no parent");
  Row negative = makeRow(0, 8, 7, 3, true);
  negative.token = -1;
  EXPECT_EQ(row(negative), "stage: request 0: token -1 is negative");
  EXPECT_EQ(refused(stage, opening(1, 0, 9)),
            "stage: request 0 is open already");
  EXPECT_EQ(refused(stage, opening(65, 1)),
            "stage: request 1: a prompt of 65 tokens in a context of 64");
  StepFrame close;
  close.closes = {1};
  EXPECT_EQ(refused(stage, close), "stage: request 1 closes but is not open");
  close.closes = {0, 0};
  EXPECT_EQ(refused(stage, close), "stage: request 0 closes but is not open");
  close.closes = {0};
  harness.enqueue(close);
  EXPECT_EQ(refused(stage, StepFrame()),
            "stage: more than 2 frames are waiting");
  harness.drain();
  EXPECT_EQ(refused(stage, opening(1, 0, 7)),
            "stage: request 0 starts at node 7, but nodes go on at 8");
  StepFrame mark;
  mark.marks.push_back({2, 0, 0, false});
  EXPECT_EQ(refused(stage, mark), "stage: no slot for request 2, of 2");
}

TEST(StageLimitsTest, APositionThatDoesNotFollowIsAnError) {
  StageHarness harness(smallLimits(), 16);
  harness.enqueue(opening(1));
  harness.drain();
  harness.enqueue(frameOf({makeRow(0, 1, 0, 2, true)}));
  EXPECT_EQ(harness.stage.formStep().status().message(),
            "stage: request 0: row 1 at position 2 behind one at 0");
}

TEST(StageLimitsTest, ARequestHasOneFirstRow) {
  StageHarness harness(smallLimits(), 16);
  harness.enqueue(opening(1));
  harness.drain();
  EXPECT_EQ(refused(harness.stage, frameOf({makeRow(0, 5, noNode, 0, true)})),
            "stage: request 0: its first row is 0, not 5");
}

/// Paths contain the row, so otherwise the rows after it would belong to
/// another text.
TEST(StageLimitsTest, ARowThatComesAgainAsAnotherIsAnError) {
  Row otherParent = makeRow(0, 3, 2, 2, false);
  Row otherToken = makeRow(0, 1, 0, 1, true);
  ++otherToken.token;
  for (const Row &again : {otherParent, otherToken}) {
    StageHarness harness(smallLimits(), 16);
    harness.enqueue(opening(1));
    harness.drain();
    harness.enqueue(
        frameOf({makeRow(0, 1, 0, 1, false), makeRow(0, 2, 0, 1, false)}));
    harness.enqueue(frameOf({makeRow(0, 3, 1, 2, false)}));
    harness.drain();
    ASSERT_TRUE(harness.stage.enqueue(frameOf({again})));
    EXPECT_EQ(harness.stage.formStep().status().message(),
              "stage: request 0: row " + std::to_string(again.node) +
                  " comes again as another one");
  }
}

TEST(StageLimitsTest, ACacheThatIsFullIsAnError) {
  StageLimits limits = smallLimits();
  limits.rows = 64;
  limits.contextLength = 32;
  StageHarness harness(limits, 1);
  harness.enqueue(opening(3));
  harness.drain();
  StepFrame frame =
      frameOf({makeRow(0, 3, 2, 3, false), makeRow(0, 4, 2, 3, false)});
  harness.enqueue(frame);
  EXPECT_EQ(harness.stage.formStep().status().message(),
            "stage: request 0: cache: a fork of sequence 0 at 3 tokens needs a "
            "page and none is free");
}

/// A request can use what a closing request gives back, but not in the same
/// step.
TEST(StageLimitsTest, AFullCacheWaitsForWhatCloses) {
  StageLimits limits = smallLimits();
  limits.contextLength = 32;
  StageHarness harness(limits, 1);
  harness.enqueue(opening(3));
  harness.drain();
  harness.enqueue(closing());
  harness.enqueue(opening(2, 1));
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_TRUE(out.rows.empty());
  EXPECT_EQ(out.opens.size(), 1u);
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{0, 1}));
  harness.enqueue(closing(1));
  harness.drain();
  harness.expectEmpty();
}

/// Far more guesses than the limit are refused, not forgotten.
TEST(StageLimitsTest, MoreRowsInFlightThanTheLimitIsAnError) {
  StageLimits limits = smallLimits();
  limits.branches = 1;
  limits.contextLength = 512;
  StageHarness harness(limits, 16);
  harness.enqueue(opening(1));
  harness.drain();
  for (int32_t node = 1; node < 300; ++node) {
    harness.enqueue(frameOf({makeRow(0, node, node - 1, node, false)}));
    Expected<bool> formed = harness.stage.formStep();
    if (!formed) {
      EXPECT_EQ(formed.status().message(),
                "stage: request 0: rows 0 and 128 are in flight at once, with "
                "a limit of 8");
      return;
    }
    StepFrame out;
    harness.stage.finishStep(out);
  }
  FAIL();
}

/// Guesses come true one after the other, many times as many as are known at a
/// time: all their tokens are there when they are asked for.
TEST(StageLimitsTest, TokensOutliveTheirNodes) {
  StageLimits limits = smallLimits();
  limits.contextLength = 512;
  StageHarness harness(limits, 64);
  Stage &stage = harness.stage;
  harness.enqueue(opening(1));
  harness.drain();
  for (int32_t node = 1; node < 500; ++node) {
    StepFrame frame = frameOf({makeRow(0, node, node - 1, node, false)});
    frame.marks.push_back({0, 0, node - 1, false});
    harness.enqueue(std::move(frame));
    ASSERT_TRUE(*stage.formStep());
    if (node == 499) {
      std::span<const int32_t> output = stage.outputOf(0);
      ASSERT_EQ(output.size(), 499u);
      for (int32_t at = 1; at < 500; ++at)
        EXPECT_EQ(output[at - 1], makeRow(0, at, at - 1, at, false).token);
    }
    StepFrame out;
    stage.finishStep(out);
  }
}

/// Chunks of prompts stay apart, whatever else is in their steps.
TEST(StageLimitsTest, AStepHasNoMorePromptRowsThanItsLimit) {
  StageLimits limits = smallLimits();
  limits.rows = 16;
  limits.promptRows = 3;
  limits.frames = 8;
  StageHarness harness(limits, 16);
  harness.enqueue(opening(5));
  StepFrame frame = frameOf({makeRow(0, 5, 4, 5, true)});
  frame.rows.back().wantsOutput = true;
  harness.enqueue(std::move(frame));
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{0, 1, 2}));
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{3, 4, 5}));
}

/// What a request had generated before it was preempted comes in chunks as
/// well.
TEST(StageLimitsTest, KnownRowsCountAsPromptRows) {
  StageLimits limits = smallLimits();
  limits.rows = 16;
  limits.promptRows = 3;
  StageHarness harness(limits, 16);
  StepFrame frame = opening(5);
  frame.opens[0].promptTokens = 1;
  harness.enqueue(std::move(frame));
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{0, 1, 2}));
  EXPECT_EQ(out.opens[0].knownTokens, 5);
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{3, 4}));
}

TEST(StageLimitsTest, LimitsAreChecked) {
  CachePages pages = CachePages::create({8, 4, 64}).take();
  EpochBoard board(2);
  auto message = [&](int64_t StageLimits::*limit, int64_t value) {
    StageLimits limits = smallLimits();
    limits.*limit = value;
    Expected<Stage> stage = Stage::create(limits, pages, board);
    return stage.status().message();
  };
  EXPECT_EQ(message(&StageLimits::rows, 1), "");
  EXPECT_EQ(message(&StageLimits::rows, 0),
            "stage: rows: 0 is not between 1 and 1048576");
  EXPECT_EQ(message(&StageLimits::outputs, 0),
            "stage: outputs: 0 is not between 1 and 1048576");
  EXPECT_EQ(message(&StageLimits::promptRows, 0),
            "stage: prompt rows: 0 is not between 1 and 1048576");
  EXPECT_EQ(message(&StageLimits::requests, 3),
            "stage: requests: 3 is not between 1 and 2");
  EXPECT_EQ(message(&StageLimits::branches, 5),
            "stage: branches: 5 is not between 1 and 4");
  EXPECT_EQ(message(&StageLimits::contextLength, 65),
            "stage: context length: 65 is not between 1 and 64");
  EXPECT_EQ(message(&StageLimits::vocabSize, -1),
            "stage: tokens: -1 is not between 0 and 2147483647");
  EXPECT_EQ(message(&StageLimits::frames, 0),
            "stage: frames: 0 is not between 1 and 1048576");
  ASSERT_TRUE(pages.open());
  EXPECT_EQ(message(&StageLimits::rows, 1), "stage: the cache is in use");
}

} // namespace
