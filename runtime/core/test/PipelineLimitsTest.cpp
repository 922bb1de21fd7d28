//===- PipelineLimitsTest.cpp - limits fit together -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PipelineLimits.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

PipelineLimits small() {
  PipelineLimits limits;
  limits.requests = 3;
  limits.contextLength = 100;
  limits.prefillRows = 8;
  limits.channelFrames = 64;
  return limits;
}

/// The head never waits to send: the frames in flight, plus a certain row and a
/// close for each request, which do not wait for room, fit a channel and a
/// stage's mailbox.
TEST(PipelineLimitsTest, WhatIsInFlightFitsAChannelAndAMailbox) {
  for (int64_t requests : {1, 3, 8})
    for (int64_t frames : {20, 64, 256}) {
      PipelineLimits limits = small();
      limits.requests = requests;
      limits.channelFrames = frames;
      EXPECT_EQ(limits.head().framesInFlight + 2 * requests, frames);
      EXPECT_EQ(limits.stage().frames, frames);
    }
}

TEST(PipelineLimitsTest, RanksMissTheLastFrameTooWhereItIsLost) {
  EXPECT_EQ(small().head().quiet, followUpAfter);
}

TEST(PipelineLimitsTest, HeadAndStageTakeThem) {
  PipelineLimits limits = small();
  limits.speculation.mode = SpeculationMode::Off;
  EXPECT_TRUE(Head::create(limits.head(), limits.speculation, {}));
  StageLimits stage = limits.stage();
  EXPECT_EQ(stage.rows, 8 + limits.requests + limits.speculation.nodes);
  Expected<CachePages> pages = CachePages::create(
      {limits.cachePages(), stage.branches, stage.contextLength});
  ASSERT_TRUE(pages) << pages.status().message();
  EpochBoard board(limits.requests);
  EXPECT_TRUE(Stage::create(stage, *pages, board));
}

TEST(PipelineLimitsTest, OnlyGuessesNeedPagesBesideTheRequests) {
  PipelineLimits limits = small();
  limits.pages = 7;
  limits.speculation.mode = SpeculationMode::Off;
  EXPECT_EQ(limits.cachePages(), 7);
  limits.speculation.mode = SpeculationMode::Async;
  limits.speculation.depth = 8;
  limits.speculation.nodes = 5;
  // Twice (3 requests and 5 guesses), of 2 pages each.
  EXPECT_EQ(limits.cachePages(), 7 + 32);
}

TEST(PipelineLimitsTest, AChannelCanBeTooSmall) {
  PipelineLimits limits = small();
  limits.channelFrames = 9;
  limits.speculation.mode = SpeculationMode::Off;
  Expected<Head> head = Head::create(limits.head(), limits.speculation, {});
  ASSERT_FALSE(head);
  EXPECT_NE(head.status().message().find("frames in flight is 3, below 4"),
            std::string::npos);
}

} // namespace
