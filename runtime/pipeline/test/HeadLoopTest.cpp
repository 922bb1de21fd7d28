//===- HeadLoopTest.cpp - the head's thread, by hand ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/HeadLoop.h"

#include "runtime/base/test/Allocations.h"
#include "runtime/pipeline/TokenQueue.h"

#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>
#include <new>
#include <pthread.h>
#include <thread>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// Records the head's commands and sends nothing.
class Links final : public HeadLinks {
public:
  Status launch(const StepFrame &frame) override {
    if (noMemory)
      throw std::bad_alloc();
    for (const Row &row : frame.rows)
      launched.push_back(row.node);
    return {};
  }
  Status draft(StepFrame) override { return {}; }
  Status cancel(const EpochMark &, Time) override { return {}; }
  void reported(const TokenEvent &token, Time) override {
    tokens.push_back(token.token);
  }
  void reported(const RequestEnd &end, Time) override {
    reasons.push_back(end.reason);
  }
  void note(const PolicyNote &, Time) override {}

  bool noMemory = false;
  std::vector<NodeId> launched;
  std::vector<int32_t> tokens;
  std::vector<FinishReason> reasons;
};

ResultFrame result(NodeId node, int32_t token) {
  ResultFrame frame;
  frame.results.push_back({node, 0, token, {}});
  return frame;
}

/// Returns the draft's answer to its first frame, the prompt's row 0: two
/// candidates.
GuessFrame guesses() {
  GuessFrame frame;
  frame.timing.rows = 1;
  frame.guesses.push_back({0, 0, {{20, 0.9f}, {30, 0.9f}}});
  return frame;
}

Scheduler makeScheduler(HeadLimits limits, SpeculationMode mode) {
  std::array<Time, StepTimes::rowCounts.size()> steps;
  steps.fill(std::chrono::microseconds(10));
  SpeculationOptions options;
  options.mode = mode;
  Expected<Head> head =
      Head::create(limits, options,
                   {StepTimes(steps), std::chrono::milliseconds(10), Time(0),
                    StepTimes(steps)});
  EXPECT_TRUE(head) << head.status().message();
  Expected<Scheduler> scheduler = Scheduler::create(head.take(), {});
  EXPECT_TRUE(scheduler) << scheduler.status().message();
  return scheduler.take();
}

ScheduledRequest request(std::vector<int32_t> prompt) {
  ScheduledRequest request;
  request.spec.prompt = std::move(prompt);
  return request;
}

/// Guesses that are in flight when the request ends are counted when they come
/// back, and the trace gets each token and end.
TEST(HeadLoopTest, CountsWhatComesBackAfterTheEnd) {
  Links links;
  HeadLimits limits;
  limits.contextLength = 100;
  limits.hasDraft = true;
  HeadLoop loop(makeScheduler(limits, SpeculationMode::Async), links);
  std::thread thread([&] { loop.run(); });
  auto queue = std::make_shared<TokenQueue>();
  loop.submit(request({5}), queue);
  loop.onGuesses(guesses());
  // Rows wait for their slots.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  loop.onResults(result(0, 20)); // node 1 came true
  loop.finish(*queue, FinishReason::Stop);
  auto next = [&] { return queue->next(now() + std::chrono::seconds(60)); };
  EXPECT_EQ(std::get<TokenEvent>(*next()).token, 20);
  EXPECT_TRUE(std::get<RequestEnd>(*next()).hasFinished());
  loop.onResults(result(1, 21)); // confirmed
  loop.onResults(result(2, 31)); // dead
  loop.close();
  thread.join();
  ASSERT_EQ(links.launched, (std::vector<NodeId>{0, 1, 2}));
  EXPECT_EQ(links.tokens, std::vector<int32_t>{20});
  EXPECT_EQ(links.reasons, std::vector{FinishReason::Stop});
  EXPECT_EQ(loop.counters().launched, 2);
  EXPECT_EQ(loop.counters().accepted, 1);
  EXPECT_EQ(loop.counters().cancelled, 1);
  EXPECT_EQ(loop.counters().computedDead, 1);
}

/// A head on another thread, for whose answers requests wait.
class FailingHeadTest : public testing::Test {
protected:
  FailingHeadTest() {
    limits.requests = 2;
    limits.contextLength = 100;
  }
  ~FailingHeadTest() override {
    if (!loop)
      return;
    loop->close();
    thread.join();
  }

  void make() {
    loop = std::make_unique<HeadLoop>(
        makeScheduler(limits, SpeculationMode::Off), links);
  }
  void run() {
    thread = std::thread([this] { loop->run(); });
  }

  /// Returns why the request has failed, or "nothing" if its reader waits in
  /// vain.
  static std::string reasonOf(TokenQueue &queue) {
    std::optional<RequestEvent> event =
        queue.next(now() + std::chrono::seconds(10));
    const auto *end = event ? std::get_if<RequestEnd>(&*event) : nullptr;
    return end && end->isBroken ? end->failure.message() : "nothing";
  }

  Links links;
  HeadLimits limits;
  std::unique_ptr<HeadLoop> loop;
  std::thread thread;
};

TEST_F(FailingHeadTest, EveryRequestIsToldAndWhy) {
  links.noMemory = true;
  make();
  auto first = std::make_shared<TokenQueue>();
  auto second = std::make_shared<TokenQueue>();
  auto third = std::make_shared<TokenQueue>();
  // Both requests are there before the loop looks.
  loop->submit(request({5}), first);
  loop->submit(request({6}), second);
  run();
  EXPECT_EQ(reasonOf(*first), "head: out of memory");
  EXPECT_EQ(reasonOf(*second), "head: out of memory");
  loop->submit(request({7}), third);
  EXPECT_EQ(reasonOf(*third), "head: out of memory");
}

TEST_F(FailingHeadTest, ALaterRequestIsToldWhatFailedBefore) {
  make();
  run();
  auto queue = std::make_shared<TokenQueue>();
  loop->onFailure(failure("rank 2: stage 1: not enough memory"));
  loop->submit(request({5}), queue);
  EXPECT_EQ(reasonOf(*queue), "rank 2: stage 1: not enough memory");
}

// A wake-up that was due at the failure stays in the past.
TEST_F(FailingHeadTest, AHeadThatHasFailedSleeps) {
  make();
  run();
  auto queue = std::make_shared<TokenQueue>();
  ScheduledRequest timed = request({5});
  timed.deadline = now() + std::chrono::milliseconds(50);
  loop->submit(std::move(timed), queue);
  loop->onFailure(failure("a rank is gone"));
  EXPECT_EQ(reasonOf(*queue), "a rank is gone");
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  auto used = [&] {
    clockid_t clock{};
    timespec time{};
    EXPECT_EQ(pthread_getcpuclockid(thread.native_handle(), &clock), 0);
    EXPECT_EQ(clock_gettime(clock, &time), 0);
    return std::chrono::seconds(time.tv_sec) +
           std::chrono::nanoseconds(time.tv_nsec);
  };
  auto before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(used() - before, std::chrono::milliseconds(5));
}

TEST_F(FailingHeadTest, ARequestWithoutMemoryForItIsTold) {
  limits.contextLength = 300'000'000;
  make();
  run();
  auto queue = std::make_shared<TokenQueue>();
  sluice::test::LackOfMemory large(
      {.threads = sluice::test::LackOfMemory::Threads::Others,
       .above = size_t{1} << 30});
  loop->submit(request({5}), queue);
  EXPECT_EQ(reasonOf(*queue), "head: out of memory");
}

} // namespace
