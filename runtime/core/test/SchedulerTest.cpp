//===- SchedulerTest.cpp - the queue of requests before the head ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CachePages.h"
#include "runtime/core/test/SchedulerScript.h"

#include <array>
#include <limits>

using namespace sluice;
using namespace sluice::test;

namespace {

//===----------------------------------------------------------------------===//
// The queue
//===----------------------------------------------------------------------===//

TEST(SchedulerTest, RefusesLimitsOutOfRange) {
  HeadLimits limits = {.requests = 1, .contextLength = 8};
  SpeculationOptions off;
  off.mode = SpeculationMode::Off;
  auto status = [&](SchedulerLimits queue) {
    return Scheduler::create(Head::create(limits, off, {}).take(), queue)
        .status()
        .message();
  };
  EXPECT_EQ(status({.waiting = -1}),
            "scheduler: a queue of -1 requests is not between 0 and 16777216");
  EXPECT_EQ(status({.queueTimeout = Time(-1)}),
            "scheduler: a time is negative");
  EXPECT_EQ(status({.priorityStep = Time(-1)}),
            "scheduler: a time is negative");
  EXPECT_EQ(status({.fairQuantum = 0}),
            "scheduler: a fair quantum of 0 units of work is not between 1 and "
            "65536");
}

TEST(SchedulerTest, TheQueueIsBounded) {
  SchedulerScript s;
  s.queue.waiting = 3;
  for (int32_t i = 0; i < 5; ++i)
    EXPECT_GE(s.submit(prompt(i), 4), 0);
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 2, .waiting = 3, .preempted = 0}));
  EXPECT_EQ(s.submit(prompt(5), 4), -1);
  EXPECT_EQ(s.last.refusal, Refusal::QueueFull);
  EXPECT_EQ(s.last.why, "request: 3 requests wait already");
  s.run(ms(100)); // two requests have ended
  EXPECT_GE(s.submit(prompt(6), 4), 0);
  s.runAll();
  s.check();
  EXPECT_EQ(s.reported.size(), 6u);
}

TEST(SchedulerTest, WithoutAQueueOnlyWhatRunsAtOnceIsTaken) {
  SchedulerScript s;
  s.queue.waiting = 0;
  EXPECT_GE(s.submit(prompt(1), 4), 0);
  EXPECT_GE(s.submit(prompt(2), 4), 0);
  EXPECT_EQ(s.submit(prompt(3), 4), -1);
  EXPECT_EQ(s.last.refusal, Refusal::QueueFull);
  s.runAll();
  s.check();
}

TEST(SchedulerTest, AnUrgentRequestThatFindsAFullQueueIsRefusedAsOthersAre) {
  SchedulerScript s;
  s.limits.requests = 1;
  s.queue.waiting = 1;
  RequestNumber running = s.submit(prompt(1), 20, /*priority=*/-5);
  RequestNumber waiting = s.submit(prompt(2), 20, -4);
  EXPECT_EQ(s.submit(prompt(3), 20, -3), -1);
  EXPECT_EQ(s.last.refusal, Refusal::QueueFull);
  s.runAll();
  s.check();
  EXPECT_LT(s.reported[running].ended, s.reported[waiting].ended);
}

/// A request loses its place to one with an earlier queue priority, whichever
/// came first.
TEST(SchedulerTest, WhereTheQueueIsFullTheLastInOrderIsRefused) {
  SchedulerScript s;
  s.limits.requests = 1;
  s.queue.waiting = 2;
  s.queue.priorityStep = ms(1000);
  s.queue.queueTimeout = ms(10000);
  RequestNumber running = s.submit(prompt(1), 20, /*priority=*/-2);
  RequestNumber usual = s.submit(prompt(2), 5);
  RequestNumber later = s.submit(prompt(3), 5, 2, /*deadline=*/ms(5000));
  RequestNumber urgent = s.submit(prompt(4), 5, -1);
  EXPECT_GE(urgent, 0);
  ASSERT_EQ(s.reported[later].ends, 1);
  const RequestEnd &end = s.reported[later].end;
  EXPECT_EQ(end.refusal, Refusal::QueueFull);
  EXPECT_EQ(end.reason, FinishReason::Cancelled);
  EXPECT_EQ(end.failure.message(), "request: 2 requests wait already");
  EXPECT_FALSE(end.started);
  EXPECT_EQ(s.submit(prompt(5), 5, 1), -1); // it is the last itself
  EXPECT_EQ(s.last.refusal, Refusal::QueueFull);
  s.runAll();
  s.check();
  EXPECT_LT(s.reported[urgent].ended, s.reported[usual].ended);
  for (RequestNumber number : {running, usual, urgent}) {
    EXPECT_EQ(s.reported[number].end.reason, FinishReason::Length);
    EXPECT_EQ(s.reported[number].end.refusal, Refusal::None);
  }
}

/// A preempted request has started: it does not count, and is not refused.
TEST(SchedulerTest, WhoHasStartedKeepsItsPlace) {
  SchedulerScript s;
  s.limits.requests = 1;
  s.queue.waiting = 1;
  s.queue.priorityStep = ms(1000);
  RequestNumber preempted = s.submit(prompt(1), 20, /*priority=*/5);
  s.run(ms(50));
  RequestNumber running = s.submit(prompt(2), 30, -5);
  EXPECT_EQ(s.scheduler->preemptions(), 1);
  RequestNumber waits = s.submit(prompt(3), 5);
  RequestNumber urgent = s.submit(prompt(4), 5, -1);
  EXPECT_GE(urgent, 0);
  EXPECT_EQ(s.reported[waits].end.refusal, Refusal::QueueFull);
  s.runAll();
  s.check();
  for (RequestNumber number : {preempted, running, urgent})
    EXPECT_EQ(s.reported[number].end.reason, FinishReason::Length);
}

TEST(SchedulerTest, RefusesWhatCanNeverRun) {
  SchedulerScript s;
  s.limits.pages = 2;
  EXPECT_EQ(s.submit({}, 4), -1);
  EXPECT_EQ(s.last.refusal, Refusal::Invalid);
  EXPECT_EQ(s.last.why, "request: the prompt is empty");
  EXPECT_EQ(s.submit(prompt(1, 65), 4), -1);
  EXPECT_EQ(s.last.refusal, Refusal::Invalid);
  EXPECT_EQ(s.submit(prompt(1), 4, 1001), -1);
  EXPECT_EQ(s.last.why, "request: priority 1001 is not between -1000 and 1000");
  for (int32_t priority : {-1001, std::numeric_limits<int32_t>::min()})
    EXPECT_EQ(s.submit(prompt(1), 4, priority), -1);
  EXPECT_EQ(s.scheduler->load(), Scheduler::Load{});
}

TEST(SchedulerTest, TheOrderIsArrivalAndPriority) {
  SchedulerScript s;
  s.limits.requests = 1;
  s.queue.priorityStep = ms(100);
  s.submit(prompt(0), 30, /*priority=*/-100); // runs for 300 ms
  s.run(ms(10));
  RequestNumber later = s.submit(prompt(1), 2, 1); // priority 110
  s.run(ms(50));
  RequestNumber first = s.submit(prompt(2), 2, 0); // priority 50
  RequestNumber same =
      s.submit(prompt(3), 2, 0); // priority 50, after the one before
  s.run(ms(120));
  RequestNumber last = s.submit(prompt(4), 2, 0);    // priority 120
  RequestNumber urgent = s.submit(prompt(5), 2, -1); // priority 20
  s.runAll();
  s.check();
  Time before{0};
  for (RequestNumber number : {urgent, first, same, later, last}) {
    EXPECT_GT(s.reported[number].firstToken, before) << number;
    before = s.reported[number].firstToken;
  }
  EXPECT_EQ(s.scheduler->preemptions(), 0);
}

TEST(SchedulerTest, NobodyIsLetPastTheFirst) {
  SchedulerScript s;
  s.limits.requests = 4;
  s.limits.pages = 8;
  RequestNumber running = s.submit(prompt(0, 90), 30);
  RequestNumber large = s.submit(prompt(1, 200), 2);
  // There is a slot, but room for this request only.
  RequestNumber small = s.submit(prompt(2), 2);
  EXPECT_EQ(s.scheduler->load().waiting, 2);
  s.run(ms(200));
  EXPECT_TRUE(s.isRunning(running));
  EXPECT_TRUE(s.reported[small].tokens.empty());
  s.runAll();
  s.check();
  EXPECT_GE(s.reported[large].firstToken, s.reported[running].ended);
  EXPECT_GE(s.reported[small].firstToken, s.reported[large].firstToken);
}

TEST(SchedulerTest, ANewcomerJoinsTheNextStep) {
  SchedulerScript s;
  s.submit(prompt(0), 100);
  s.run(ms(25)); // during the third step, which runs from 20 to 30
  RequestNumber newcomer = s.submit(prompt(1), 2);
  s.run(ms(30));
  const TextStages::Arrived &frame = s.stages->arrived().back();
  EXPECT_EQ(frame.at, ms(30));
  EXPECT_EQ(frame.known, 4);
  EXPECT_EQ(frame.generated, 1);
  s.run(ms(40));
  EXPECT_EQ(s.reported[newcomer].firstToken, ms(40));
  EXPECT_EQ(s.reported[0].tokens.size(), 4u) << "nobody had to wait for it";
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

TEST(SchedulerTest, WhatWaitsTooLongEndsOnce) {
  SchedulerScript s;
  s.limits.requests = 1;
  s.queue.queueTimeout = ms(100);
  RequestNumber running = s.submit(prompt(0), 50);
  RequestNumber waiting = s.submit(prompt(1), 5);
  s.run(ms(99));
  EXPECT_EQ(s.reported[waiting].ends, 0);
  s.run(ms(100));
  EXPECT_EQ(s.reported[waiting].ends, 1);
  EXPECT_EQ(s.reported[waiting].end.reason, FinishReason::Timeout);
  EXPECT_FALSE(s.reported[waiting].end.started);
  EXPECT_EQ(s.scheduler->load().waiting, 0);
  s.runAll();
  s.check();
  EXPECT_EQ(s.reported[running].end.reason, FinishReason::Length);
  EXPECT_TRUE(s.reported[running].end.started);
}

TEST(SchedulerTest, WhatHasStartedDoesNotTimeOutInTheQueue) {
  SchedulerScript s;
  s.limits.requests = 1;
  s.queue.queueTimeout = ms(50);
  s.queue.priorityStep = ms(1000);
  RequestNumber slow = s.submit(prompt(0), 10);
  s.run(ms(30));
  s.submit(prompt(1), 20, /*priority=*/-1); // takes 200 ms
  s.run(ms(31));
  EXPECT_EQ(s.scheduler->load().preempted, 1);
  s.runAll();
  s.check();
  EXPECT_EQ(s.reported[slow].end.reason, FinishReason::Length);
  EXPECT_EQ(s.reported[slow].tokens.size(), 10u);
}

TEST(SchedulerTest, DeadlinesEndARequestWhereverItIs) {
  SchedulerScript s;
  s.limits.requests = 1;
  s.queue.priorityStep = ms(1000);
  RequestNumber preempted = s.submit(prompt(0), 50, 0, ms(100));
  s.run(ms(30));
  RequestNumber running = s.submit(prompt(1), 50, -1, ms(120));
  RequestNumber waiting = s.submit(prompt(2), 50, 0, ms(90));
  RequestNumber late = s.submit(prompt(3), 5, 0, ms(1000000));
  s.run(ms(95));
  EXPECT_EQ(s.reported[waiting].ends, 1);
  EXPECT_FALSE(s.reported[waiting].end.started);
  EXPECT_EQ(s.reported[preempted].ends, 0);
  s.run(ms(100));
  EXPECT_EQ(s.reported[preempted].ends, 1);
  EXPECT_TRUE(s.reported[preempted].end.started);
  EXPECT_EQ(s.reported[running].ends, 0);
  s.run(ms(120));
  EXPECT_EQ(s.reported[running].ends, 1);
  s.runAll();
  s.check();
  for (RequestNumber number : {preempted, running, waiting})
    EXPECT_EQ(s.reported[number].end.reason, FinishReason::Timeout) << number;
  EXPECT_EQ(s.reported[late].end.reason, FinishReason::Length);
  EXPECT_LT(s.reported[late].ended, ms(1000))
      << "its deadline holds nothing up";
}

TEST(SchedulerTest, ADeadlineThatIsPastEndsARequestAtOnce) {
  SchedulerScript s;
  s.now = ms(100);
  RequestNumber late = s.submit(prompt(0), 50, 0, ms(99));
  s.run(ms(100));
  EXPECT_EQ(s.reported[late].ends, 1);
  EXPECT_EQ(s.reported[late].end.reason, FinishReason::Timeout);
  s.runAll();
  s.check();
}

// Requests that came one by one share their steps: none is left with a step of
// its own that alternates with those of the others.
TEST(SchedulerTest, RequestsThatComeAtAnyTimeShareTheirSteps) {
  for (int64_t stages : {1, 2, 3}) {
    SchedulerScript s;
    s.limits.requests = 12;
    s.limits.stages = stages;
    for (int32_t i = 0; i < 12; ++i) {
      s.submit(prompt(i), 200);
      s.run(s.now + ms(i % 2 == 0 ? 17 : 43));
    }
    size_t joined = s.stages->arrived().size();
    Time began = s.now;
    s.run(began + ms(500));
    int64_t rows = 0;
    for (size_t i = joined; i < s.stages->arrived().size(); ++i)
      rows += s.stages->arrived()[i].generated;
    // Each request has a row in every trip through the stages.
    EXPECT_GE(rows, 12 * (500 / (10 * stages) - 2)) << stages;
    s.runAll();
    s.check();
  }
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

TEST(SchedulerTest, UsersEndRequestsWhereverTheyAre) {
  SchedulerScript s;
  s.limits.requests = 2;
  s.queue.priorityStep = ms(1000);
  RequestNumber preempted = s.submit(prompt(0), 50);
  RequestNumber running = s.submit(prompt(1), 50, -2);
  s.run(ms(35));
  RequestNumber inPrompt = s.submit(prompt(2), 50, -1);
  RequestNumber waiting = s.submit(prompt(3), 50);
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 2, .waiting = 1, .preempted = 1}));
  for (RequestNumber number : {preempted, waiting, inPrompt, running}) {
    s.finish(number);
    EXPECT_EQ(s.reported[number].ends, 1) << number;
    EXPECT_EQ(s.reported[number].end.reason, FinishReason::Cancelled);
    s.finish(number);
    EXPECT_EQ(s.reported[number].ends, 1) << number << ": ended again";
  }
  EXPECT_EQ(s.reported[preempted].end.started, true);
  EXPECT_EQ(s.reported[waiting].end.started, false);
  s.finish(12345);
  s.runAll();
  s.check();
}

TEST(SchedulerTest, NoTokensAreNoFault) {
  SchedulerScript s;
  RequestNumber none = s.submit(prompt(0), 0);
  EXPECT_EQ(s.reported[none].ends, 1);
  EXPECT_EQ(s.reported[none].end.reason, FinishReason::Length);
  s.runAll();
  s.check();
}

TEST(SchedulerTest, ASlotThatHasBecomeFreeIsTakenByTheSameEvent) {
  SchedulerScript s;
  s.limits.requests = 1;
  s.submit(prompt(0), 3);
  RequestNumber next = s.submit(prompt(1), 3);
  s.run(ms(30));
  EXPECT_EQ(s.reported[0].ended, ms(30));
  s.run(ms(40));
  EXPECT_EQ(s.reported[next].firstToken, ms(40));
}

} // namespace
