//===- SchedulerPreemptionTest.cpp - requests that make room for others ---===//
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

TEST(SchedulerPreemptionTest, UrgentRequestsTakeThePlaceOfOthers) {
  SchedulerScript s;
  s.limits.requests = 2;
  s.queue.priorityStep = ms(1000);
  RequestNumber first = s.submit(prompt(0), 20);
  s.run(ms(1));
  RequestNumber second = s.submit(prompt(1), 20);
  s.run(ms(55));
  RequestNumber urgent = s.submit(prompt(2), 5, -1);
  EXPECT_EQ(s.scheduler->load().preempted, 1);
  s.runAll();
  s.check();
  EXPECT_EQ(s.scheduler->preemptions(), 1);
  EXPECT_LT(s.reported[urgent].ended, s.reported[first].ended);
  EXPECT_LT(s.reported[first].ended, s.reported[second].ended)
      << "the one whose queue priority is last had to go";
  EXPECT_EQ(s.reported[second].tokens.size(), 20u);
}

TEST(SchedulerPreemptionTest, EqualsDoNotTakeEachOthersPlace) {
  SchedulerScript s;
  s.limits.requests = 1;
  for (int32_t i = 0; i < 4; ++i)
    s.submit(prompt(i), 10);
  s.runAll();
  s.check();
  EXPECT_EQ(s.scheduler->preemptions(), 0);
}

TEST(SchedulerPreemptionTest,
     AFullCachePreemptsTheLastWhichGoesOnWithTheSameTokens) {
  SchedulerScript s;
  s.limits.requests = 2;
  s.limits.pages = 5;
  RequestNumber first = s.submit(prompt(0, 60), 60);
  s.run(ms(1));
  RequestNumber last = s.submit(prompt(1, 60), 30);
  s.runAll();
  s.check();
  EXPECT_EQ(s.scheduler->preemptions(), 1);
  EXPECT_EQ(s.reported[first].tokens.size(), 60u);
  EXPECT_EQ(s.reported[last].tokens.size(), 30u);
  EXPECT_GT(s.reported[last].ended, s.reported[first].ended);
  EXPECT_LE(s.stages->maxPages(), 5);
}

TEST(SchedulerPreemptionTest, OfEqualPrioritiesTheLaterOneIsPreempted) {
  SchedulerScript s;
  s.limits.requests = 2;
  s.limits.pages = 5;
  RequestNumber first = s.submit(prompt(0, 60), 60);
  RequestNumber last = s.submit(prompt(1, 60), 60);
  s.runAll();
  s.check();
  EXPECT_EQ(s.scheduler->preemptions(), 1);
  EXPECT_LT(s.reported[first].ended, s.reported[last].ended);
}

/// The pages of the first request cannot be taken from it.
TEST(SchedulerPreemptionTest, NobodyIsPreemptedForWhatDoesNotFitThen) {
  SchedulerScript s;
  s.limits.requests = 4;
  s.limits.pages = 40;
  s.queue.priorityStep = ms(1000);
  s.submit(prompt(0, 620), 50, /*priority=*/-2); // 20 pages
  s.submit(prompt(1), 200, 1);
  s.submit(prompt(2), 200, 1);
  s.run(ms(100));
  RequestNumber large = s.submit(prompt(3, 950), 5); // 30 pages
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 3, .waiting = 1, .preempted = 0}));
  RequestNumber fits = s.submit(prompt(4, 400), 5, -1); // 13 pages
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 4, .waiting = 1, .preempted = 0}));
  s.runAll();
  s.check();
  EXPECT_LT(s.reported[fits].ended, s.reported[large].firstToken);
}

TEST(SchedulerPreemptionTest, PreemptedRequestsAreBounded) {
  SchedulerScript s;
  s.queue.waiting = 1;
  s.queue.priorityStep = ms(1000);
  int64_t taken = 0;
  for (int32_t i = 0; i < 40; ++i) {
    taken += s.submit(prompt(i), 20, 100 - i) >= 0;
    Scheduler::Load load = s.scheduler->load();
    EXPECT_LE(load.preempted + load.waiting, 3);
  }
  EXPECT_EQ(s.scheduler->load().running, 2);
  EXPECT_LE(s.scheduler->preemptions(), 4);
  EXPECT_LT(taken, 40);
  s.runAll();
  s.check();
}

TEST(SchedulerPreemptionTest, WhoMayPreemptMoreOnceAnotherHasLeftDoes) {
  SchedulerScript s;
  s.limits.pages = 12;
  s.queue.waiting = 2;
  s.queue.priorityStep = ms(1000);
  for (int32_t i = 0; i < 2; ++i)
    s.submit(prompt(i), 50, 2); // a request that will be preempted
  for (int32_t i = 2; i < 4; ++i)
    s.submit(prompt(i, 130), 50, 1); // 5 pages each
  RequestNumber last = s.submit(prompt(4), 50, 3);
  s.submit(prompt(5, 340), 5, 0); // 11 pages
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 2, .waiting = 2, .preempted = 2}));
  s.finish(last);
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 1, .waiting = 0, .preempted = 4}));
  s.runAll();
  s.check();
}

/// No page has to be left for the other request once it has its last page.
TEST(SchedulerPreemptionTest, GoesOnOnceTheOtherHasItsLastPage) {
  SchedulerScript s;
  s.limits.requests = 3;
  s.limits.pages = 6;
  s.queue.priorityStep = ms(1000);
  RequestNumber grows = s.submit(prompt(0, 60), 60); // 2 pages, in the end 4
  RequestNumber preempted = s.submit(prompt(1, 40), 20, 1); // 2 pages
  s.run(ms(100));
  s.submit(prompt(2, 60), 2, -1); // 2 pages for a while
  ASSERT_EQ(s.scheduler->load().preempted, 1);
  s.run(ms(200));
  ASSERT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 1, .waiting = 0, .preempted = 1}));
  s.runAll();
  s.check();
  EXPECT_LT(s.reported[preempted].ended, s.reported[grows].ended);
}

TEST(SchedulerPreemptionTest, CountersOfSpeculationGoOnAfterAPreemption) {
  HeadLimits limits = {.requests = 1, .contextLength = 100};
  limits.hasDraft = true;
  std::array<Time, StepTimes::rowCounts.size()> steps;
  steps.fill(std::chrono::microseconds(10));
  Expected<Head> head = Head::create(
      limits, {}, {StepTimes(steps), ms(10), Time(0), StepTimes(steps)});
  Scheduler scheduler = Scheduler::create(head.take(), {}).take();
  ScheduledRequest request;
  request.spec.prompt = {5};
  request.priority = 1;
  RequestNumber number = scheduler.submit(request, ms(0)).number;
  GuessFrame guesses;
  guesses.timing.rows = 1;
  guesses.guesses.push_back({0, 0, {{20, 0.9f}, {30, 0.9f}}});
  scheduler.onGuesses(guesses, ms(0));
  for (int64_t at = 1; at < 10; ++at)
    scheduler.onWake(ms(at));
  scheduler.clear();
  request.priority = 0;
  scheduler.submit(request, ms(10));
  ASSERT_EQ(scheduler.load().preempted, 1);
  scheduler.finish(number, FinishReason::Cancelled, ms(20));
  ASSERT_EQ(scheduler.events().ends.size(), 1u);
  const SpeculationCounters &counted = scheduler.events().ends[0].speculation;
  EXPECT_EQ(counted.launched, 2);
  EXPECT_EQ(counted.cancelled, 2);
}

/// Runs requests that need several times the cache. Returns how often requests
/// were preempted, and how many rows were computed for each row needed.
std::pair<int64_t, double> contend(int64_t requests, int64_t pages,
                                   int64_t tokens, bool shares, Time apart) {
  SchedulerScript s;
  s.limits.requests = requests;
  s.limits.pages = pages;
  s.limits.sharesPrefixes = shares;
  for (int32_t i = 0; i < requests; ++i) {
    s.submit(prompt(i, 20), tokens);
    s.run(s.now + apart);
  }
  s.runAll();
  s.check();
  int64_t rows = 0;
  for (const TextStages::Arrived &each : s.stages->arrived())
    rows += std::ssize(each.frame.rows);
  for (const auto &[number, each] : s.reported)
    EXPECT_EQ(std::ssize(each.tokens), tokens);
  return {s.scheduler->preemptions(),
          static_cast<double>(rows) /
              static_cast<double>(requests * (19 + tokens))};
}

TEST(SchedulerPreemptionTest, RequestsAreNotPreemptedOverAndOver) {
  // Each needs 8 pages; together they need up to 16 times the cache.
  for (int64_t pages : {8, 12, 16, 24, 40, 64})
    for (bool shares : {false, true})
      for (Time apart : {Time(0), Time(1)}) {
        auto [preemptions, work] = contend(16, pages, 230, shares, apart);
        EXPECT_LE(preemptions, 28) << pages;
        EXPECT_LT(work, 2) << pages;
      }
}

} // namespace
