//===- SchedulerSharingTest.cpp - equal prefixes at the same time ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CachePages.h"
#include "runtime/core/test/SchedulerScript.h"

#include <ctime>
#include <random>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int64_t pageTokens = CachePages::pageTokens;

/// Returns a prompt that begins with `alike` tokens that all prompts have, and
/// goes on with tokens that only prompts of the same `kind` have.
Text sharedPrompt(int64_t alike, int64_t others = 0, int32_t kind = 1) {
  Text text(static_cast<size_t>(alike), 5);
  text.insert(text.end(), static_cast<size_t>(others), 100 + kind);
  return text;
}

/// Chunks have 64 rows, and a step takes 10 ms.
struct Sharing : SchedulerScript {
  Sharing() {
    limits.requests = 8;
    limits.contextLength = 4096;
    limits.prefillRows = 64;
    limits.sharesPrefixes = true;
    queue.priorityStep = ms(1000);
  }
  /// Returns how many rows of tokens known at opening there were.
  int64_t knownRows() const {
    int64_t rows = 0;
    for (const TextStages::Arrived &each : stages->arrived())
      rows += each.known;
    return rows;
  }
  int64_t waiting() const { return scheduler->load().waiting; }
  Time started(RequestNumber number) const {
    return reported.at(number).end.waited; // all requests came at 0
  }
};

//===----------------------------------------------------------------------===//
// What sharing gains
//===----------------------------------------------------------------------===//

// Whatever their number and length, simultaneous equal prompts use the pages of
// one prompt, plus for each a page of its own and the pages that it generates
// in.
TEST(SchedulerSharingTest, EqualPromptsAreComputedOnceAndHaveTheirPagesOnce) {
  std::mt19937_64 random(1);
  auto upTo = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() %
                                      static_cast<uint64_t>(high - low + 1));
  };
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    Sharing s;
    int64_t requests = upTo(1, 8), tokens = upTo(1, 600);
    s.limits.stages = upTo(1, 4);
    s.limits.prefillRows = upTo(1, 200);
    s.times.perRow = std::chrono::microseconds(upTo(0, 300));
    int64_t shared = (tokens - 1) / pageTokens;
    int64_t own = CachePages::pagesFor(tokens + 1) - shared;
    // No request ends before the last one has its first token.
    for (int64_t i = 0; i < requests; ++i)
      s.submit(sharedPrompt(0, tokens), 20000);
    auto hasNoToken = [](const auto &each) {
      return each.second.tokens.empty();
    };
    while (std::any_of(s.reported.begin(), s.reported.end(), hasNoToken) &&
           s.now < ms(100000))
      s.run(s.now + ms(1));
    EXPECT_EQ(s.knownRows(),
              tokens + (requests - 1) * (tokens - shared * pageTokens));
    int64_t pages = s.scheduler->rows().holdings().pages;
    int64_t grown = 0;
    for (const auto &[number, each] : s.reported)
      grown += CachePages::pagesFor(tokens + std::ssize(each.tokens)) -
               CachePages::pagesFor(tokens + 1);
    EXPECT_EQ(pages, shared + requests * own + grown);
    EXPECT_LE(s.stages->maxPages(), pages);
    for (const auto &[number, each] : s.reported)
      s.finish(number);
    s.runAll();
    s.check();
  }
}

TEST(SchedulerSharingTest, ARequestWaitsForNoMoreThanWhatIsAlike) {
  Sharing s;
  s.limits.interTokenLatency = Time(0);
  RequestNumber longer = s.submit(sharedPrompt(100, 1900), 2);
  RequestNumber shorter = s.submit(sharedPrompt(100, 30, 2), 2);
  EXPECT_EQ(s.waiting(), 1);
  s.runAll();
  s.check();
  // Two chunks hold the three pages, and the request joins the third step.
  EXPECT_EQ(s.started(shorter), ms(20));
  EXPECT_EQ(s.reported[shorter].end.cachedTokens, 96);
  EXPECT_LT(s.reported[shorter].ended, s.reported[longer].firstToken);
}

// On its own a long prompt would have to wait for a shorter one that is longer
// than what the last request needs.
TEST(SchedulerSharingTest, WhatIsWaitedForDoesNotWaitForLongerPrompts) {
  Sharing s;
  s.submit(sharedPrompt(0, 3000, 2), 2);
  RequestNumber longer = s.submit(sharedPrompt(100, 1900), 2);
  s.submit(sharedPrompt(0, 1000, 3), 2);
  RequestNumber shorter = s.submit(sharedPrompt(100, 30, 4), 2);
  RequestNumber shorterYet = s.submit(sharedPrompt(50, 3, 5), 2);
  s.runAll();
  s.check();
  // 32 rows of each step, after those that left before any request waited; then
  // what the other request waits for.
  EXPECT_LE(s.started(shorterYet), ms(30));
  EXPECT_LE(s.started(shorter), ms(80));
  EXPECT_GT(s.reported[longer].firstToken, ms(500));
}

TEST(SchedulerSharingTest, WhatIsBehindThePrefixCanBeWaitedForInTurn) {
  Sharing s;
  s.submit(sharedPrompt(64, 64, 1), 50);
  RequestNumber second = s.submit(sharedPrompt(64, 64, 2), 50);
  RequestNumber third = s.submit(sharedPrompt(64, 64, 2), 50);
  s.run(ms(10));
  EXPECT_EQ(s.waiting(), 1) << "for the second now";
  s.runAll();
  s.check();
  EXPECT_EQ(s.reported[second].end.cachedTokens, 64);
  EXPECT_EQ(s.reported[third].end.cachedTokens, 96);
}

TEST(SchedulerSharingTest, NobodyWaitsForLessThanAPage) {
  Sharing s;
  s.submit(sharedPrompt(31, 300, 1), 2);
  s.submit(sharedPrompt(31, 300, 2), 2);
  s.submit(sharedPrompt(32), 2); // its last row is computed in any case
  s.submit(sharedPrompt(20), 2);
  EXPECT_EQ(s.waiting(), 0);
  s.runAll();
  s.check();
}

TEST(SchedulerSharingTest, WithoutSharingNobodyWaits) {
  Sharing s;
  s.limits.sharesPrefixes = false;
  for (int i = 0; i < 4; ++i)
    s.submit(sharedPrompt(300), 2);
  EXPECT_EQ(s.waiting(), 0);
  s.runAll();
  s.check();
  EXPECT_EQ(s.knownRows(), 4 * 300);
}

//===----------------------------------------------------------------------===//
// Which requests wait
//===----------------------------------------------------------------------===//

TEST(SchedulerSharingTest, OthersAreLetPast) {
  Sharing s;
  s.submit(sharedPrompt(600), 10);
  RequestNumber alike = s.submit(sharedPrompt(600), 10);
  RequestNumber other = s.submit(sharedPrompt(0, 40, 2), 10);
  EXPECT_EQ(s.waiting(), 1);
  s.runAll();
  s.check();
  EXPECT_EQ(s.started(other), Time(0));
  EXPECT_GT(s.started(alike), Time(0));
}

TEST(SchedulerSharingTest, WhoWaitsHasAClaimToASlot) {
  Sharing s;
  s.limits.requests = 2;
  RequestNumber first = s.submit(sharedPrompt(300), 50);
  RequestNumber alike = s.submit(sharedPrompt(300), 50);
  RequestNumber other = s.submit(sharedPrompt(0, 40, 2), 50);
  EXPECT_EQ(s.waiting(), 2) << "the free slot is not for the third";
  s.runAll();
  s.check();
  EXPECT_EQ(s.scheduler->preemptions(), 0);
  EXPECT_LT(s.started(alike), s.reported[first].ended);
  EXPECT_GE(s.started(other), s.reported[first].ended);
}

TEST(SchedulerSharingTest, WhoWaitsHasAClaimToPages) {
  Sharing s;
  // 10 pages for the first request, 3 more for the one that waits; the 2 and 1
  // pages of the others fit too, until the third would grow.
  s.limits.pages = 15;
  s.submit(sharedPrompt(300), 2);
  RequestNumber alike = s.submit(sharedPrompt(300, 70, 3), 2);
  RequestNumber other = s.submit(sharedPrompt(0, 40, 2), 2);
  EXPECT_EQ(s.waiting(), 2);
  RequestNumber none = s.submit(sharedPrompt(0, 4, 4), 2);
  s.runAll();
  s.check();
  EXPECT_EQ(s.scheduler->preemptions(), 0);
  EXPECT_LE(s.started(alike), s.started(other));
  EXPECT_LE(s.started(other), s.started(none));
}

TEST(SchedulerSharingTest, NobodyWaitsForALessUrgentRequest) {
  Sharing s;
  s.submit(sharedPrompt(600), 10, /*priority=*/1);
  RequestNumber urgent = s.submit(sharedPrompt(600), 10, 0);
  EXPECT_EQ(s.waiting(), 0);
  // The third request waits for the urgent one, which is about as far as the
  // first.
  RequestNumber third = s.submit(sharedPrompt(600), 10, 0);
  EXPECT_EQ(s.waiting(), 1);
  s.runAll();
  s.check();
  EXPECT_EQ(s.started(urgent), Time(0));
  EXPECT_EQ(s.reported[third].end.cachedTokens, 576);
}

TEST(SchedulerSharingTest, AnUrgentRequestThatWaitsIsFirstAfterwards) {
  Sharing s;
  s.limits.requests = 2;
  s.submit(sharedPrompt(300), 500, /*priority=*/-2);
  RequestNumber urgent = s.submit(sharedPrompt(300), 10, -1);
  s.submit(sharedPrompt(0, 40, 2), 10, 0);
  s.run(ms(45));
  RequestNumber between = s.submit(sharedPrompt(0, 40, 3), 10, 0);
  s.run(ms(55));
  EXPECT_TRUE(s.reported[between].tokens.empty());
  s.runAll();
  s.check();
  EXPECT_EQ(s.started(urgent), ms(50)) << "as soon as the prompt is computed";
}

TEST(SchedulerSharingTest, WhoWaitsWithASlotDoesNotCountForTheQueue) {
  for (int64_t queue : {0, 2}) {
    Sharing s;
    s.queue.waiting = queue;
    for (int i = 0; i < 8; ++i)
      EXPECT_GE(s.submit(sharedPrompt(300), 10), 0) << s.last.why;
    EXPECT_EQ(s.scheduler->load(),
              (Scheduler::Load{
                  .running = 1, .waiting = 7, .preempted = 0, .reserved = 7}));
    for (int32_t i = 0; i < queue; ++i)
      EXPECT_GE(s.submit(sharedPrompt(0, 40, i + 2), 10), 0) << s.last.why;
    EXPECT_EQ(s.submit(sharedPrompt(0, 40, 9), 10), -1);
    EXPECT_EQ(s.last.refusal, Refusal::QueueFull);
    s.runAll();
    s.check();
    for (const auto &[number, each] : s.reported)
      EXPECT_EQ(each.tokens.size(), 10u);
    EXPECT_EQ(s.knownRows(), 300 + 7 * 12 + queue * 40);
  }
}

TEST(SchedulerSharingTest, WhoseSlotIsTakenStartsFirstWhereTheQueueIsFull) {
  Sharing s;
  s.limits.requests = 2;
  s.queue.waiting = 0;
  s.submit(sharedPrompt(300), 10);
  RequestNumber alike = s.submit(sharedPrompt(300), 10);
  EXPECT_EQ(s.scheduler->load().reserved, 1);
  EXPECT_GE(s.submit(sharedPrompt(0, 40, 2), 10, /*priority=*/-1), 0);
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 2, .waiting = 0, .preempted = 1}));
  s.runAll();
  s.check();
  EXPECT_EQ(s.reported[alike].tokens.size(), 10u);
}

/// Each request has a claim to a slot, and V cannot have one, however many are
/// preempted.
TEST(SchedulerSharingTest, NobodyIsPreemptedForAClaimThatCannotBeMet) {
  Sharing s;
  s.limits.requests = 4;
  for (int32_t i = 0; i < 4; ++i)
    s.submit(sharedPrompt(0, 40, 10 + i), 300, /*priority=*/5);
  s.run(ms(100));
  for (int i = 0; i < 4; ++i)
    s.submit(sharedPrompt(3000), 10, /*priority=*/-5);
  s.submit(sharedPrompt(0, 40, 20), 10); // V
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 4, .waiting = 4, .preempted = 1}));
  s.runAll();
  s.check();
}

/// Returns the CPU time of this thread.
double threadMicros() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 +
         static_cast<double>(time.tv_nsec) / 1e3;
}

TEST(SchedulerSharingTest, WhoWaitsIsNotComparedAgainWhereTheFirstLeaves) {
  Sharing s;
  s.limits.requests = 1024;
  s.limits.contextLength = 8192;
  s.limits.pages = 4096;
  s.queue.waiting = 2048;
  Text text = sharedPrompt(8000);
  RequestNumber first = s.submit(text, 10);
  for (int i = 0; i < 1023; ++i)
    s.submit(text, 10);
  s.run(ms(25));
  const Text &one = s.reported[first].prompt,
             &other = s.reported[first + 1].prompt;
  double before = threadMicros();
  int64_t same = 0;
  for (int i = 0; i < 1023; ++i)
    for (size_t at = 0; at < one.size(); ++at)
      same += one[at] == other[(at + static_cast<size_t>(i)) % 8000];
  double compared = threadMicros() - before;
  EXPECT_EQ(same, 1023 * 8000);
  before = threadMicros();
  s.scheduler->finish(first, FinishReason::Cancelled, s.now);
  EXPECT_LT(threadMicros() - before, compared / 4);
  s.take();
  EXPECT_EQ(s.waiting(), 1022);
}

//===----------------------------------------------------------------------===//
// How the wait ends
//===----------------------------------------------------------------------===//

TEST(SchedulerSharingTest, WhereTheFirstLeavesTheNextOneComputes) {
  Sharing s;
  RequestNumber first = s.submit(sharedPrompt(600), 10);
  RequestNumber second = s.submit(sharedPrompt(600), 10);
  RequestNumber third = s.submit(sharedPrompt(600), 10);
  s.run(ms(25));
  EXPECT_EQ(s.waiting(), 2);
  s.finish(first);
  EXPECT_EQ(s.waiting(), 1);
  s.runAll();
  s.check();
  EXPECT_EQ(s.started(second), ms(25));
  EXPECT_EQ(s.reported[second].end.cachedTokens, 128) << "what was computed";
  EXPECT_EQ(s.reported[third].end.cachedTokens, 576);
}

TEST(SchedulerSharingTest, WhereTheFirstIsPreemptedTheNextOneComputes) {
  Sharing s;
  s.limits.requests = 2;
  RequestNumber first = s.submit(sharedPrompt(600), 10);
  RequestNumber second = s.submit(sharedPrompt(600), 10);
  s.run(ms(25));
  // These requests take both slots.
  s.submit(sharedPrompt(0, 4, 2), 30, -1);
  s.submit(sharedPrompt(0, 4, 3), 20, -1);
  EXPECT_EQ(s.scheduler->load(),
            (Scheduler::Load{.running = 2, .waiting = 1, .preempted = 1}));
  s.runAll();
  s.check();
  EXPECT_EQ(s.reported[first].tokens.size(), 10u);
  EXPECT_EQ(s.reported[second].tokens.size(), 10u);
}

TEST(SchedulerSharingTest, WaitingForAnotherIsWaiting) {
  Sharing s;
  s.queue.queueTimeout = ms(30);
  RequestNumber first = s.submit(sharedPrompt(600), 10);
  RequestNumber second = s.submit(sharedPrompt(600), 10, 0, ms(20));
  RequestNumber third = s.submit(sharedPrompt(600), 10);
  RequestNumber fourth = s.submit(sharedPrompt(600), 10);
  s.finish(fourth);
  s.runAll();
  s.check();
  EXPECT_EQ(s.reported[first].end.reason, FinishReason::Length);
  EXPECT_EQ(s.reported[second].end.reason, FinishReason::Timeout);
  EXPECT_EQ(s.reported[second].ended, ms(20));
  EXPECT_EQ(s.reported[third].end.reason, FinishReason::Length)
      << "it has a slot, and starts when its time in the queue is over";
  EXPECT_EQ(s.started(third), ms(30));
  EXPECT_EQ(s.reported[fourth].end.reason, FinishReason::Cancelled);
}

} // namespace
