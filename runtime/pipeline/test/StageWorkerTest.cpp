//===- StageWorkerTest.cpp - a stage and its thread -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/test/StageWorkerFixture.h"

using namespace sluice;
using namespace sluice::pipeline;
using namespace sluice::pipeline::test;
using std::chrono::milliseconds;

namespace {

/// The mailbox may hold more than the stage: the head's certain rows and closes
/// do not wait for room. Frames for which the stage has no room wait, which is
/// no error.
TEST_F(StageWorkerTest, TakesFromTheMailboxWhatTheStageHasRoomFor) {
  config.limits.fuse = false;
  int64_t max = 0;
  make([&](const device::StepInput &) {
    max = std::max(max, worker->waiting());
  });
  arriveFirst(0);
  constexpr int64_t count = 20;
  for (int64_t i = 1; i <= count; ++i) {
    StepFrame frame;
    frame.rows.push_back(
        {.node = i, .parent = i - 1, .position = int32_t(i), .certain = true});
    worker->arrive({std::move(frame), {}, {}});
  }
  EXPECT_FALSE(worker->hasRoom());
  EXPECT_EQ(worker->waiting(), count + 1);
  run();
  EXPECT_TRUE(worker->hasRoom());
  ASSERT_EQ(sent.size(), size_t(count) + 1);
  for (size_t i = 0; i < sent.size(); ++i)
    EXPECT_EQ(sent[i].rows.at(0).node, NodeId(i));
  EXPECT_EQ(worker->report().steps, uint64_t(count) + 1);
}

TEST_F(StageWorkerTest, CancelsCountFromTheirOwnDecisions) {
  Time decided = now() - milliseconds(400);
  make([&](const device::StepInput &input) {
    // There was another cancel long before these rows.
    board.publish({0, 0, 0, false}, decided - std::chrono::hours(1));
    input.checkpoints->checkpoint();
    // Guess 2 dies by the first cancel, and guess 1 by the second, the end.
    board.publish({0, 0, 1, false}, decided);
    board.publish({0, 0, 9, true}, now());
    input.checkpoints->checkpoint();
  });
  StepFrame frame = firstFrame(1);
  frame.rows.push_back({.node = 2, .parent = 0, .position = 1});
  frame.rows.push_back({.node = 3, .parent = 1, .position = 2});
  worker->arrive({std::move(frame), {}, {}});
  run();
  StageReport report = worker->report();
  EXPECT_EQ(report.cancelLatency.count, 2);
  EXPECT_GE(report.cancelLatency.maxMicros, 400e3);
  EXPECT_LT(report.cancelLatency.maxMicros, 60e6);
  EXPECT_LT(report.cancelLatency.p50Micros, 400e3);
  EXPECT_EQ(report.rows, 4u);
  EXPECT_EQ(report.departedAtCheckpoint, 4u);
  EXPECT_EQ(report.guesses, 0u);
}

/// On a device rows have left before the step has ended, but their departure
/// counts from then on.
TEST_F(StageWorkerTest, CancelsOnADeviceCountUntilTheHostSawThem) {
  Time decided = now() - milliseconds(400);
  make([&](const device::StepInput &input) {
    board.publish({0, 0, 1, true}, decided);
    std::vector<uint8_t> alive(2, 1);
    EXPECT_TRUE(input.checkpoints->findDead(alive));
    input.checkpoints->leave({}, {});
    input.checkpoints->leave(std::vector<uint8_t>{0, 0},
                             decided + std::chrono::microseconds(50));
    input.checkpoints->dropOrphans();
  });
  arriveFirst(1);
  run();
  StageReport report = worker->report();
  EXPECT_EQ(report.cancelLatency.count, 1);
  EXPECT_LT(report.cancelLatency.maxMicros, 100);
  EXPECT_EQ(report.departedAtCheckpoint, 2u);
  EXPECT_EQ(report.checkpoints, 2u);
}

/// The mark came with a frame, before its cancel: the last cancel is not
/// measured for it.
TEST_F(StageWorkerTest, AMarkWithoutATimeIsNotMeasured) {
  make([&](const device::StepInput &input) {
    board.publish({0, 0, 0, false}, now() - std::chrono::hours(1));
    board.publish({0, 0, 7, false});
    input.checkpoints->checkpoint();
  });
  arriveFirst(2);
  run();
  EXPECT_EQ(worker->report().departedAtCheckpoint, 2u);
  EXPECT_EQ(worker->report().cancelLatency.count, 0);
}

/// Steps of 200 ms with a checkpoint every 20 ms.
std::unique_ptr<StepPacer> slowSteps() {
  cluster::ModelCost model;
  cluster::OpCost op;
  op.weightBytes = 20'000'000;
  model.layers.emplace_back().ops = {op};
  cluster::DeviceSpec device;
  device.bytesPerSecond = 1e8;
  device.flopsPerSecond = 1e15;
  cluster::StageCost cost(model, cluster::wholeModel(model), device);
  return std::make_unique<StepPacer>(cost, 16, milliseconds(20));
}

/// An emulated step has the checkpoints of the described hardware, and no
/// others; the rows that live at its end are computed.
TEST_F(StageWorkerTest, EmulatedStepsHaveTheirOwnCheckpoints) {
  std::vector<int64_t> computed;
  make(
      [&](const device::StepInput &input) {
        EXPECT_TRUE(input.checkpoints->checkpoint().empty());
        computed.push_back(input.batch->rows());
      },
      slowSteps());
  StepFrame frame = firstFrame(1);
  frame.rows.push_back({.node = 2, .parent = 0, .position = 1});
  worker->arrive({std::move(frame), {}, {}});
  Time start = now();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    board.publish({0, 1, 1, false},
                  now()); // guess 1 is right, guess 2 is wrong
  });
  run();
  killer.join();
  EXPECT_GE(now() - start, milliseconds(200));
  EXPECT_EQ(computed, (std::vector<int64_t>{2}));
  EXPECT_EQ(worker->report().barriers, 7u);
  EXPECT_EQ(worker->report().checkpoints, 9u);
  EXPECT_EQ(worker->report().departedAtCheckpoint, 1u);
}

TEST_F(StageWorkerTest, AnEmulatedStepEndsWhereNoRowIsLeft) {
  make([&](const device::StepInput &) { ADD_FAILURE() << "computed"; },
       slowSteps());
  arriveFirst(2);
  Time start = now();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    board.publish({0, 0, 9, true}, now());
  });
  run();
  killer.join();
  EXPECT_GE(now() - start, milliseconds(50));
  StageReport report = worker->report();
  EXPECT_GE(report.checkpoints, 1u);
  EXPECT_EQ(report.departedAtCheckpoint, 3u);
  EXPECT_EQ(report.barriers, 0u) << "of a step that was not computed";
  EXPECT_EQ(report.cancelLatency.count, 1);
}

/// A frame without rows says nothing about a format, even as the oldest of the
/// step.
TEST_F(StageWorkerTest, RowsAreReadInThePlansFormat) {
  config.incomingFormat = ActivationFormat::BF16;
  receives = true;
  comm::Bytes data = {1, 2, 3, 4};
  comm::ActivationRows row{ActivationFormat::BF16, 2, data};
  std::vector<ActivationFormat> formats;
  bool first = true;
  make([&](const device::StepInput &input) {
    formats.push_back(input.incomingFormat);
    EXPECT_EQ(input.incoming.size(), 1u);
    EXPECT_EQ(input.incoming[0], data.data());
    if (!std::exchange(first, false))
      return;
    // Both frames are in the next step.
    worker->arrive({});
    StepFrame frame;
    frame.rows.push_back({.node = 1, .parent = 0, .position = 1});
    worker->arrive({std::move(frame), {}, row});
    worker->arrive({{}, {}, {}, /*last=*/true});
  });
  StepFrame opening;
  OpenRequest open;
  open.promptTokens = open.knownTokens = 1;
  opening.opens.push_back(open);
  opening.rows.push_back({.certain = true});
  worker->arrive({std::move(opening), {}, row});
  worker->run();
  EXPECT_TRUE(failed.ok()) << failed.message();
  EXPECT_EQ(formats,
            (std::vector{ActivationFormat::BF16, ActivationFormat::BF16}));
  EXPECT_EQ(sent.size(), 2u);
}

TEST_F(StageWorkerTest, ALackOfMemoryIsAnError) {
  make([](const device::StepInput &) { throw std::bad_alloc(); });
  arriveFirst(0);
  worker->run();
  EXPECT_EQ(failed.message(), "stage 0: out of memory");
  EXPECT_FALSE(ended);
}

} // namespace
