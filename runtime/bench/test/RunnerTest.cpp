//===- RunnerTest.cpp - running a workload, in virtual time ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Runner.h"

#include "runtime/bench/test/FakeBackend.h"

#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::bench;
using namespace sluice::bench::test;
using namespace std::chrono_literals;
using testing::ElementsAre;

namespace {

/// Returns `count` requests of `tokens` tokens, one each `interval`.
Workload fixed(size_t count, Time interval, int64_t tokens = 3) {
  Workload workload(count);
  for (size_t i = 0; i < count; ++i) {
    workload[i].index = i;
    workload[i].arrival = interval * static_cast<int64_t>(i);
    workload[i].promptTokens = 7;
    workload[i].outputTokens = tokens;
  }
  return workload;
}

/// Returns a script with the first output after 30 ms, then one each 10 ms.
FakeScript usual(const BenchRequest &spec) { return steady(spec, 30ms, 10ms); }

TEST(RunnerTest, StartsInTimeWhateverAStartCosts) {
  FakeBackend backend(usual);
  backend.startCost = 3ms;
  RunRecord run = runWorkload(fixed(100, 10ms), backend, {});
  ASSERT_EQ(run.requests.size(), 100u);
  for (const RequestRecord &record : run.requests) {
    EXPECT_EQ(record.started, record.spec.arrival);
    EXPECT_EQ(record.startDelay, 0ms);
    EXPECT_FALSE(record.heldBack);
    EXPECT_TRUE(record.succeeded());
  }
  EXPECT_EQ(run.duration, 990ms + 50ms);
  EXPECT_EQ(run.notStarted, 0u);
  EXPECT_FALSE(run.stopped);
  // Each takes 50 ms and one starts each 10 ms, so five overlap.
  EXPECT_GE(run.peakInFlight, 5u);
  EXPECT_LE(run.peakInFlight, 6u);
}

/// Requests that are due while others are being started are late and say so;
/// later ones are in time again.
TEST(RunnerTest, LatenessIsNotPassedOn) {
  FakeBackend backend(usual);
  backend.startCost = 3ms;
  Workload workload = fixed(5, 0ms);
  workload.push_back(workload.back());
  workload.back().index = 5;
  workload.back().arrival = 100ms;
  RunRecord run = runWorkload(workload, backend, {});
  std::vector<Time> delays;
  for (const RequestRecord &record : run.requests)
    delays.push_back(record.startDelay);
  EXPECT_THAT(delays, ElementsAre(0ms, 3ms, 6ms, 9ms, 12ms, 0ms));
}

TEST(RunnerTest, Measures) {
  FakeBackend backend([](const BenchRequest &spec) {
    // The server gives no number of tokens; the backend knows of one piece that
    // it has three.
    FakeScript script = {{{10ms, 0}, {30ms, 3}}, 30ms, {}};
    if (spec.index == 0) {
      script = {{{40ms, 0}, {50ms, 0}, {75ms, 0}}, 80ms, {}};
      script.ending.promptTokens = 9;
      script.ending.outputTokens = 5;
    }
    return script;
  });
  RunRecord run = runWorkload(fixed(2, 1000ms), backend, {});
  const RequestRecord &one = run.requests[0];
  EXPECT_EQ(one.ttft(), 40ms);
  EXPECT_EQ(one.e2e(), 75ms); // to the last token
  EXPECT_EQ(one.ended, 80ms);
  EXPECT_THAT(one.gaps, ElementsAre(10ms, 25ms));
  EXPECT_EQ(one.promptTokens, 9);
  EXPECT_EQ(one.outputTokens, 5);
  EXPECT_TRUE(one.tokensFromServer);
  EXPECT_DOUBLE_EQ(one.tpotNanos(), 35e6 / 4);
  const RequestRecord &two = run.requests[1];
  EXPECT_EQ(two.started, 1000ms);
  EXPECT_EQ(two.ttft(), 10ms);
  EXPECT_THAT(two.gaps, ElementsAre(20ms));
  EXPECT_EQ(two.promptTokens, 7);
  EXPECT_EQ(two.outputTokens, 4);
  EXPECT_FALSE(two.tokensFromServer);
  EXPECT_EQ(run.duration, 1030ms);
}

TEST(RunnerTest, AClosedLoopKeepsItsPlacesFull) {
  FakeBackend backend(
      [](const BenchRequest &spec) { return steady(spec, 30ms, 10ms); });
  RunnerOptions options;
  options.closedLoop = true;
  options.maxInFlight = 4;
  RunRecord run = runWorkload(fixed(20, 0ms), backend, options);
  EXPECT_EQ(run.peakInFlight, 4u);
  for (size_t i = 0; i < 20; ++i) {
    const RequestRecord &record = run.requests[i];
    // Each takes 50 ms: four start together, as soon as four have ended.
    EXPECT_EQ(record.started, 50ms * static_cast<int64_t>(i / 4)) << i;
    EXPECT_EQ(record.startDelay, 0ms);
    EXPECT_FALSE(record.heldBack);
  }
  EXPECT_EQ(run.duration, 250ms);
}

TEST(RunnerTest, AnOpenLoopHoldsBackWhatIsTooMuch) {
  FakeBackend backend(usual);
  RunnerOptions options;
  options.maxInFlight = 1;
  Workload workload = fixed(3, 20ms);
  workload.push_back(workload.back());
  workload.back().index = 3;
  workload.back().arrival = 1000ms;
  RunRecord run = runWorkload(workload, backend, options);
  EXPECT_EQ(run.peakInFlight, 1u);
  std::vector<std::pair<Time, bool>> delays;
  for (const RequestRecord &record : run.requests)
    delays.emplace_back(record.startDelay, record.heldBack);
  EXPECT_THAT(delays, ElementsAre(std::pair<Time, bool>(0ms, false),
                                  std::pair<Time, bool>(30ms, true),
                                  std::pair<Time, bool>(60ms, true),
                                  std::pair<Time, bool>(0ms, false)));
}

TEST(RunnerTest, ErrorsAreTheirRequestsOwn) {
  FakeBackend backend([](const BenchRequest &spec) {
    FakeScript script = usual(spec);
    if (spec.index == 1)
      script.ending = {.errorKind = "http_429", .error = "too many"};
    if (spec.index == 2)
      script.pieces.clear();
    return script;
  });
  RunRecord run = runWorkload(fixed(4, 1ms), backend, {});
  EXPECT_TRUE(run.requests[0].succeeded());
  EXPECT_EQ(run.requests[1].errorKind, "http_429");
  EXPECT_EQ(run.requests[1].error, "too many");
  EXPECT_EQ(run.requests[2].errorKind, "no_tokens");
  EXPECT_TRUE(run.requests[3].succeeded());
}

TEST(RunnerTest, WhatTakesTooLongIsAborted) {
  FakeBackend backend([](const BenchRequest &spec) {
    FakeScript script = usual(spec);
    if (spec.index % 2 == 1)
      script.end = -1ms; // never
    return script;
  });
  RunnerOptions options;
  options.timeout = 123ms;
  Time begin = backend.clock;
  RunRecord run = runWorkload(fixed(4, 10ms), backend, options);
  EXPECT_THAT(backend.aborted,
              ElementsAre(std::pair<size_t, Time>(1, begin + 133ms),
                          std::pair<size_t, Time>(3, begin + 153ms)));
  for (size_t i : {1, 3}) {
    EXPECT_EQ(run.requests[i].errorKind, "timeout");
    EXPECT_EQ(run.requests[i].error, "it took more than 123 ms");
  }
  EXPECT_TRUE(run.requests[2].succeeded());
  EXPECT_EQ(run.duration, 153ms);
}

/// The place of a request that timed out goes to the next one.
TEST(RunnerTest, ATimeoutFreesItsPlace) {
  FakeBackend backend(
      [](const BenchRequest &) { return FakeScript{{}, -1ms, {}}; });
  RunnerOptions options;
  options.closedLoop = true;
  options.maxInFlight = 2;
  options.timeout = 100ms;
  RunRecord run = runWorkload(fixed(6, 0ms), backend, options);
  EXPECT_EQ(run.duration, 300ms);
  EXPECT_EQ(backend.aborted.size(), 6u);
}

TEST(RunnerTest, StopsWhenAsked) {
  FakeBackend backend(
      [](const BenchRequest &spec) { return steady(spec, 30ms, 10ms); });
  Time begin = backend.clock;
  RunnerOptions options;
  options.shouldStop = [&] { return backend.clock >= begin + 105ms; };
  RunRecord run = runWorkload(fixed(100, 20ms, 4), backend, options);
  EXPECT_TRUE(run.stopped);
  EXPECT_EQ(run.requests.size(), 6u); // at 0 .. 100 ms
  EXPECT_EQ(run.notStarted, 94u);
  size_t cancelled = 0;
  for (const RequestRecord &record : run.requests)
    cancelled += record.cancelled();
  EXPECT_EQ(cancelled, backend.aborted.size());
  EXPECT_EQ(cancelled, 3u); // the 60 ms requests started at 60, 80 and 100 ms
  EXPECT_TRUE(run.requests[0].succeeded());
  EXPECT_GE(run.duration, 105ms);
  EXPECT_LE(run.duration, 155ms);
}

/// shouldStop is called often, however long nothing happens.
TEST(RunnerTest, AsksOftenWhetherToStop) {
  FakeBackend backend(
      [](const BenchRequest &) { return FakeScript{{}, -1ms, {}}; });
  RunnerOptions options;
  int asked = 0;
  options.shouldStop = [&] { return ++asked > 100; };
  RunRecord run = runWorkload(fixed(2, 3600s), backend, options);
  EXPECT_TRUE(run.stopped);
  EXPECT_LE(run.duration, 5s); // at most 50 ms each
}

TEST(RunnerTest, TellsItsProgress) {
  FakeBackend backend(usual);
  std::vector<RunProgress> reported;
  RunnerOptions options;
  options.onProgress = [&](const RunProgress &progress) {
    reported.push_back(progress);
  };
  runWorkload(fixed(200, 10ms), backend, options);
  ASSERT_GE(reported.size(), 3u);
  EXPECT_LE(reported.size(), 4u);
  EXPECT_GE(reported[0].elapsed, 500ms);
  EXPECT_LE(reported[0].elapsed, 510ms);
  EXPECT_EQ(reported[0].total, 200u);
  EXPECT_NEAR(double(reported[0].started), 50, 2);
  EXPECT_NEAR(double(reported[0].ended), 46, 2);
  EXPECT_EQ(reported[0].failed, 0u);
  EXPECT_NEAR(double(reported[0].pieces), 3 * 47, 8);
}

/// Each request is prepared before it is due, but not the whole workload at
/// once.
TEST(RunnerTest, PreparesAhead) {
  FakeBackend backend(usual);
  runWorkload(fixed(1000, 5ms), backend, {});
  EXPECT_EQ(backend.prepared.size(), 1000u);
  EXPECT_LE(backend.maxAhead, 256u);
  EXPECT_GE(backend.maxAhead, 255u);
}

/// 32 requests of 512 steps each take 5.8 s, one each 500 ms. If a step's time
/// does not depend on how many requests share it, the run ends 5.8 s after the
/// last arrival.
TEST(RunnerTest, OverlapsAsArrivalsDo) {
  WorkloadOptions options;
  options.arrival = Arrival::Fixed;
  options.meanIntervalMs = 500;
  options.promptTokens = LengthDistribution(8);
  options.outputTokens = LengthDistribution(512);
  constexpr Time step = Time(5800ms) / 512;
  FakeBackend backend(
      [&](const BenchRequest &spec) { return steady(spec, step, step); });
  RunRecord run = runWorkload(*makeWorkload(options), backend, {});
  EXPECT_NEAR(double(run.duration / 1ms), 31 * 500 + 5800, 2);
  EXPECT_EQ(run.peakInFlight, 12u);
}

TEST(RunnerTest, NothingToDo) {
  FakeBackend backend(usual);
  RunRecord run = runWorkload({}, backend, {});
  EXPECT_EQ(run.requests.size(), 0u);
  EXPECT_EQ(run.duration, 0ms);
}

} // namespace
