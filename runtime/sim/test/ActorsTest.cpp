//===- ActorsTest.cpp - steps in virtual time -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/StageActors.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

using std::chrono::milliseconds;

namespace {

/// One stage with steps of 10 ms, plus 1 ms for each further row, and a
/// checkpoint each millisecond of a step of one row.
struct Fixture {
  Fixture() : world({}, 0, nullptr), rank(1) {
    setup.limits.contextLength = 64;
    setup.limits.branches = 16;
    setup.pages = 64;
    setup.model.byRows = {milliseconds(10), milliseconds(11)};
    setup.model.maxStretch = milliseconds(1);
    Expected<std::unique_ptr<SimStage>> made =
        SimStage::create(world, rank, setup, [this](StepFrame frame) {
          sent.emplace_back(world.queue.now(), std::move(frame));
        });
    EXPECT_TRUE(made) << made.status().message();
    stage = made.take();
  }

  void run() {
    while (world.queue.runNext())
      ;
    EXPECT_TRUE(world.failure.ok()) << world.failure.message();
  }

  World world;
  Rank rank;
  WorkerSetup setup;
  std::vector<std::pair<Time, StepFrame>> sent;
  std::unique_ptr<SimStage> stage;
};

Row rowAt(NodeId node, NodeId parent, int32_t position, bool certain) {
  Row row;
  row.node = node;
  row.parent = parent;
  row.position = position;
  row.token = static_cast<int32_t>(node);
  row.certain = certain;
  row.wantsOutput = true;
  return row;
}

/// Returns a frame that opens request 0 with one certain row and a chain of
/// `guesses`.
StepFrame firstFrame(int guesses) {
  StepFrame frame;
  OpenRequest open;
  open.promptTokens = 1;
  open.knownTokens = 1;
  frame.opens.push_back(open);
  frame.rows.push_back(rowAt(0, noNode, 0, true));
  for (int i = 1; i <= guesses; ++i)
    frame.rows.push_back(rowAt(i, i - 1, i, false));
  EpochMark mark;
  mark.confirmed = 0;
  frame.marks.push_back(mark);
  return frame;
}

TEST(SimStageTest, AStepTakesItsTimeAndGoesOn) {
  Fixture f;
  f.stage->arrive(firstFrame(2));
  f.run();
  ASSERT_EQ(f.sent.size(), 1u);
  EXPECT_EQ(f.sent[0].first, milliseconds(12));
  const StepFrame &frame = f.sent[0].second;
  EXPECT_EQ(frame.rows.size(), 3u);
  ASSERT_EQ(frame.timings.size(), 1u);
  EXPECT_EQ(frame.timings[0].rows, 3);
  EXPECT_EQ(frame.timings[0].departed, 0);
  EXPECT_EQ(Time(frame.timings[0].busyNanos), milliseconds(12));
  EXPECT_EQ(f.stage->counters().checkpoints, 11u);
}

TEST(SimStageTest, WhatWaitsInTheMailboxSharesAStep) {
  Fixture f;
  f.stage->arrive(firstFrame(0));
  for (int i = 1; i <= 2; ++i) {
    StepFrame frame;
    frame.rows.push_back(rowAt(i, i - 1, i, false));
    frame.launched = static_cast<uint64_t>(i + 1);
    f.stage->arrive(std::move(frame));
  }
  f.run();
  ASSERT_EQ(f.sent.size(), 2u);
  EXPECT_EQ(f.sent[0].first, milliseconds(10));
  EXPECT_EQ(f.sent[1].first, milliseconds(21));
  EXPECT_EQ(f.sent[1].second.rows.size(), 2u);
  EXPECT_EQ(f.sent[0].second.launched, 0u);
  EXPECT_EQ(f.sent[1].second.launched, 3u);
  EXPECT_EQ(f.sent[1].second.timings[0].idleNanos, 0);
  EXPECT_EQ(f.stage->counters().busy, milliseconds(21));
}

TEST(SimStageTest, TheLastStageSaysHowManyFramesHaveCome) {
  Fixture f;
  OracleTarget target(1, 100);
  std::vector<ResultFrame> answers;
  Expected<std::unique_ptr<SimStage>> last = SimStage::create(
      f.world, f.rank, f.setup, target,
      [&](ResultFrame frame) { answers.push_back(std::move(frame)); });
  ASSERT_TRUE(last) << last.status().message();
  for (uint64_t frames : {4, 5}) {
    StepFrame frame = frames == 4 ? firstFrame(1) : StepFrame();
    frame.launched = frames;
    (*last)->arrive(std::move(frame));
    f.run();
  }
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].results.size(), 2u);
  EXPECT_EQ(answers[0].launched, 4u);
  EXPECT_TRUE(answers[1].results.empty());
  EXPECT_EQ(answers[1].launched, 5u);
}

TEST(SimStageTest, DeadRowsLeaveAtTheNextCheckpointAndShortenTheStep) {
  Fixture f;
  f.stage->arrive(firstFrame(2)); // 12 ms in 12 stretches
  struct Cancel final : EventTarget {
    explicit Cancel(Fixture &f) : f(f) {}
    void onEvent(uint64_t) override {
      // The confirmed node is none of the guesses, so both die.
      EpochMark mark;
      mark.confirmed = 50;
      f.rank.publish(mark, f.world.queue.now() - milliseconds(1));
    }
    Fixture &f;
  } cancel(f);
  f.world.queue.schedule(Time(milliseconds(5)) + Time(300'000), cancel, 0);
  f.run();
  // After six stretches of 12 ms / 12, six stretches of 10 ms / 12 remain.
  ASSERT_EQ(f.sent.size(), 1u);
  EXPECT_EQ(f.sent[0].first, Time(milliseconds(6)) + 6 * Time(833'333));
  EXPECT_EQ(f.sent[0].second.rows.size(), 1u);
  EXPECT_EQ(f.sent[0].second.timings[0].departed, 2);
  const WorkerCounters &counted = f.stage->counters();
  EXPECT_EQ(f.stage->core().counters().departedAtCheckpoint, 2u);
  EXPECT_EQ(counted.checkpoints, 11u);
  // From the decision, a millisecond before the cancel arrived, to the
  // checkpoint.
  ASSERT_EQ(counted.cancelLatencies.size(), 1u);
  EXPECT_EQ(counted.cancelLatencies[0], Time(1'700'000));
}

TEST(SimStageTest, AStepWithoutRowsEndsAtTheCheckpoint) {
  Fixture f;
  f.stage->arrive(firstFrame(0));
  struct End final : EventTarget {
    explicit End(Fixture &f) : f(f) {}
    void onEvent(uint64_t) override {
      EpochMark mark;
      mark.confirmed = 9;
      mark.ended = true;
      f.rank.publish(mark, f.world.queue.now());
    }
    Fixture &f;
  } end(f);
  f.world.queue.schedule(Time(3'500'000), end, 0);
  f.run();
  ASSERT_EQ(f.sent.size(), 1u);
  EXPECT_EQ(f.sent[0].first, milliseconds(4));
  EXPECT_TRUE(f.sent[0].second.rows.empty());
  EXPECT_EQ(f.stage->counters().busy, milliseconds(4));
}

TEST(SimStageTest, TimeWithoutWorkIsIdle) {
  Fixture f;
  f.stage->arrive(firstFrame(0));
  struct Later final : EventTarget {
    explicit Later(Fixture &f) : f(f) {}
    void onEvent(uint64_t) override {
      StepFrame frame;
      frame.rows.push_back(rowAt(1, 0, 1, true));
      f.stage->arrive(std::move(frame));
    }
    Fixture &f;
  } later(f);
  f.world.queue.schedule(milliseconds(25), later, 0);
  f.run();
  ASSERT_EQ(f.sent.size(), 2u);
  EXPECT_EQ(f.sent[1].first, milliseconds(35));
  EXPECT_EQ(Time(f.sent[1].second.timings[0].idleNanos), milliseconds(15));
}

TEST(StepModelTest, LongStepsFollowTheLastTwo) {
  StepModel model;
  model.byRows = {Time(10), Time(12), Time(20)};
  EXPECT_EQ(model.step(0), Time(0));
  EXPECT_EQ(model.step(2), Time(12));
  EXPECT_EQ(model.step(5), Time(36));
  model.byOutputs = {Time(1)};
  EXPECT_EQ(model.step(2, 0), Time(12));
  EXPECT_EQ(model.step(2, 1), Time(13));
  EXPECT_EQ(model.step(2), Time(13)) << "a table of one value is constant";
  EXPECT_EQ(model.stretches(Time(100)), 1);
  model.maxStretch = Time(30);
  EXPECT_EQ(model.stretches(Time(90)), 3);
  EXPECT_EQ(model.stretches(Time(91)), 4);
  EXPECT_EQ(model.stretches(Time(1)), 1);
}

} // namespace
