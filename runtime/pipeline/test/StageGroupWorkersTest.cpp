//===- StageGroupWorkersTest.cpp - workers that take equal steps ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/StageWorker.h"

#include "runtime/comm/inproc/InprocCommunicator.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace sluice;
using namespace sluice::pipeline;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Calls a function for each step instead of computing.
class StepHook final : public StepCompute {
public:
  using Hook = std::function<Status(const device::StepInput &)>;
  explicit StepHook(Hook hook) : hook(std::move(hook)) {}
  bool receives() const override { return false; }
  Status execute(const device::StepInput &input) override {
    return hook(input);
  }
  std::span<const float> logits(int64_t) const override { return {}; }

private:
  Hook hook;
};

/// Two workers of one stage, each on its thread; the second one follows the
/// first. A frame travels as its index in `frames`.
class StageGroupWorkersTest : public testing::Test {
protected:
  struct Member {
    explicit Member(comm::Communicator &communicator)
        : ranks(communicator, {0, 1}), collectives(ranks),
          group(collectives, board, communicator.buffers()) {
      config.name = communicator.rank() == 0 ? "first" : "second";
      config.limits.rows = config.limits.outputs = 16;
      config.limits.branches = 16;
      config.limits.nodes = 64;
      config.limits.contextLength = 256;
      config.limits.frames = 4;
      config.pages = 64;
      config.group = &group;
    }
    EpochBoard board{1};
    comm::RankGroup ranks;
    comm::Collectives collectives;
    StageGroup group;
    StageWorkerConfig config;
    StepHook::Hook hook = [](const auto &) { return Status(); };
    std::unique_ptr<StageWorker> worker;
    std::vector<std::vector<int32_t>> steps; ///< the tokens of each step
    Status failed;
    bool ended = false;
  };

  StageGroupWorkersTest() {
    second.config.readFrame = [this](ArrivedFrame &arrival) {
      arrival.frame = frames.at(arrival.bytes.at(0));
      if (change)
        change(arrival.frame);
      return Status();
    };
    StepFrame opening;
    OpenRequest open;
    open.promptTokens = open.knownTokens = 1;
    opening.opens.push_back(open);
    opening.rows.push_back({.token = 70, .certain = true});
    opening.rows.push_back(guess(1, 0, 71));
    frames.push_back(opening);
  }

  static Row guess(NodeId node, NodeId parent, int32_t token) {
    return {.node = node,
            .parent = parent,
            .position = int32_t(parent + 1),
            .token = token};
  }

  void make(Member &member) {
    auto compute =
        std::make_unique<StepHook>([&member](const device::StepInput &input) {
          auto tokens = input.batch->tokens();
          member.steps.emplace_back(tokens.begin(), tokens.end());
          return member.hook(input);
        });
    Expected<std::unique_ptr<StageWorker>> made = StageWorker::create(
        member.config, member.board, std::move(compute),
        std::make_unique<DiscardedOutput>(0, ActivationFormat::F32, 16),
        nullptr, {},
        {.failed =
             [this, &member](Status reason) {
               member.failed = reason;
               for (std::unique_ptr<comm::Communicator> &each : job)
                 if (each)
                   each->stopReceiving(); // as a rank that ends the job does
             },
         .roomChanged = nullptr,
         .ended = [&member] { member.ended = true; },
         .released = nullptr});
    ASSERT_TRUE(made) << made.status().message();
    member.worker = made.take();
  }

  /// Sends all frames to the first member, and runs to the end.
  void run() {
    make(first);
    make(second);
    for (size_t i = 0; i < frames.size(); ++i)
      first.worker->arrive({frames[i], {uint8_t(i)}, {}});
    first.worker->arrive({{}, {}, {}, /*last=*/true});
    std::thread other([this] { second.worker->run(); });
    first.worker->run();
    other.join();
  }

  std::vector<StepFrame> frames;
  /// Changes the frames that the second member reads.
  std::function<void(StepFrame &)> change;
  std::vector<std::unique_ptr<comm::Communicator>> job = comm::makeInprocJob(2);
  Member first{*job[0]}, second{*job[1]};
};

TEST_F(StageGroupWorkersTest, AllTakeTheSameSteps) {
  first.config.limits.fuse = second.config.limits.fuse = false;
  StepFrame frame;
  frame.rows.push_back(guess(2, 0, 72));
  frames.push_back(frame);
  run();
  for (const Member *member : {&first, &second}) {
    EXPECT_TRUE(member->failed.ok()) << member->failed.message();
    EXPECT_TRUE(member->ended);
    EXPECT_THAT(member->steps,
                ElementsAre(ElementsAre(70, 71), ElementsAre(72)));
  }
}

/// A member that still loads its weights is not taken for lost: the first
/// member waits for it before it begins a step, in which waits are bounded.
TEST_F(StageGroupWorkersTest, NoStepBeginsBeforeAllAreHere) {
  std::atomic<bool> isLoaded{false};
  first.hook = [&](const device::StepInput &) {
    EXPECT_TRUE(isLoaded);
    return Status();
  };
  make(first);
  make(second);
  first.worker->arrive({frames[0], {0}, {}});
  first.worker->arrive({{}, {}, {}, /*last=*/true});
  std::thread other([this] { first.worker->run(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  isLoaded = true;
  second.worker->run();
  other.join();
  for (const Member *member : {&first, &second}) {
    EXPECT_TRUE(member->failed.ok()) << member->failed.message();
    EXPECT_EQ(member->steps.size(), 1u);
  }
}

TEST_F(StageGroupWorkersTest, AMemberThatDiesWhileItLoadsIsNoticed) {
  make(first);
  first.worker->arrive({frames[0], {0}, {}});
  std::thread other([this] { first.worker->run(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  job[1].reset();
  other.join();
  EXPECT_THAT(first.failed.message(),
              HasSubstr("rank 1: has left before the end"));
  EXPECT_THAT(first.steps, ElementsAre());
}

/// The head's cancel reaches only the first member's rank.
TEST_F(StageGroupWorkersTest, RowsLeaveEverywhereAtOnce) {
  first.hook = [&](const device::StepInput &input) {
    first.board.publish({0, 0, 9, true}, now());
    input.checkpoints->checkpoint();
    EXPECT_EQ(input.batch->rows(), 0);
    return Status();
  };
  second.hook = [&](const device::StepInput &input) {
    EXPECT_EQ(input.batch->rows(), 2);
    input.checkpoints->checkpoint();
    EXPECT_EQ(input.batch->rows(), 0);
    return Status();
  };
  run();
  EXPECT_TRUE(second.failed.ok()) << second.failed.message();
  EXPECT_EQ(second.worker->report().departedAtCheckpoint, 2u);
}

/// The devices have passed the checkpoint by themselves and have removed the
/// same rows. The second member's host learns why when the step has ended, and
/// the next step is the same at both members.
TEST_F(StageGroupWorkersTest, RowsLeaveOnAllDevicesAtOnce) {
  first.config.limits.fuse = second.config.limits.fuse = false;
  StepFrame frame;
  frame.rows.push_back(
      {.node = 2, .parent = 0, .position = 1, .token = 73, .certain = true});
  frames.push_back(frame);
  auto passCheckpoint = [](const device::StepInput &input, bool finds) {
    if (input.batch->rows() < 2)
      return;
    std::vector<uint8_t> alive(2, 1);
    EXPECT_EQ(input.checkpoints->findDead(alive), finds);
    EXPECT_EQ(alive[1], finds ? 0 : 1);
    input.checkpoints->agree();
    const uint8_t stays[] = {1, 0};
    input.checkpoints->leave(stays, now());
    input.checkpoints->dropOrphans();
    EXPECT_EQ(input.batch->rows(), 1);
  };
  first.hook = [&](const device::StepInput &input) {
    first.board.publish({0, 0, 2, false}, now());
    passCheckpoint(input, /*finds=*/true);
    return Status();
  };
  second.hook = [&](const device::StepInput &input) {
    passCheckpoint(input, /*finds=*/false);
    return Status();
  };
  run();
  for (const Member *member : {&first, &second}) {
    EXPECT_TRUE(member->failed.ok()) << member->failed.message();
    EXPECT_TRUE(member->ended);
    EXPECT_EQ(member->steps.size(), 2u);
    EXPECT_EQ(member->worker->report().departedAtCheckpoint, 1u);
  }
  EXPECT_EQ(first.worker->report().cancelLatency.count, 1);
  EXPECT_EQ(second.worker->report().cancelLatency.count, 0);
}

/// There are as many rows, but different ones.
TEST_F(StageGroupWorkersTest, OtherRowsAreFoundOutAtACheckpoint) {
  change = [](StepFrame &frame) { frame.rows.front().token += 5; };
  Status met;
  first.hook = [](const device::StepInput &input) {
    input.checkpoints->checkpoint();
    return Status();
  };
  second.hook = [&](const device::StepInput &input) {
    input.checkpoints->checkpoint();
    // The step goes on without the other member.
    float part = 1, sum = 0;
    std::array<float, 2> scratch;
    met = second.collectives.allReduce({&part, 1}, {&sum, 1}, scratch);
    return Status();
  };
  run();
  EXPECT_THAT(second.failed.message(),
              HasSubstr("second: the 2 rows of step 1 are not those of the "
                        "first of the group"));
  EXPECT_THAT(met.message(), HasSubstr("are not those of the first"));
}

TEST_F(StageGroupWorkersTest, OtherRowsAreFoundOutAtTheEnd) {
  change = [](StepFrame &frame) { frame.rows.back().wantsOutput = true; };
  run();
  EXPECT_THAT(second.failed.message(), HasSubstr("are not those of the first"));
  EXPECT_FALSE(second.ended);
}

TEST_F(StageGroupWorkersTest, AnotherNumberOfRowsIsFoundOut) {
  change = [](StepFrame &frame) { frame.rows.pop_back(); };
  run();
  EXPECT_THAT(second.failed.message(),
              HasSubstr("is at step 1 of 2 rows, this member at step 1 of 1"));
}

TEST_F(StageGroupWorkersTest, OtherLimitsAreFoundOut) {
  second.config.pages = 63;
  run();
  EXPECT_THAT(second.failed.message(),
              HasSubstr("the first of the group has other limits"));
  EXPECT_THAT(second.steps, ElementsAre());
}

TEST_F(StageGroupWorkersTest, AFrameThatCannotBeReadIsAnError) {
  second.config.readFrame = [](ArrivedFrame &) {
    return failure("unreadable");
  };
  run();
  EXPECT_EQ(second.failed.message(), "second: unreadable");
  EXPECT_FALSE(second.ended);
}

} // namespace
