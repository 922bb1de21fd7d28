//===- SchedulerBench.cpp - what a scheduling step costs ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a scheduling step costs: from the results of a step in which every
// request has a row to the frame of the next one. No layers, no threads. The
// thread's own time, so that what else runs on the machine counts only as far
// as it takes caches and half of a core.
//
//   SluiceSchedulerBench [REQUESTS [STEPS [WAITING]]]
//
// With WAITING, the cache has as many pages as a prompt of so many tokens
// takes, and that prompt waits for them all the while; most of it is kept.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CachePages.h"
#include "runtime/core/Scheduler.h"
#include "runtime/core/test/Allocations.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace sluice;

static Scheduler makeScheduler(int64_t requests, int64_t pages) {
  HeadLimits limits;
  limits.requests = requests + 1;
  limits.contextLength = 1 << 20;
  limits.framesInFlight = 256;
  limits.prefillRows = 4 * requests;
  limits.sharesPrefixes = true;
  limits.pages = pages;
  SpeculationOptions off;
  off.mode = SpeculationMode::Off;
  PipelineTimes times;
  std::array<Time, StepTimes::rowCounts.size()> step;
  step.fill(std::chrono::milliseconds(10));
  times.slowest = StepTimes(step);
  Expected<Head> head = Head::create(limits, off, times);
  return Scheduler::create(head.take(), {}).take();
}

static double threadMicros() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 +
         static_cast<double>(time.tv_nsec) / 1e3;
}

/// Results for all rows that are to be answered.
static void answer(HeadCommands &commands, ResultFrame &results) {
  results.results.clear();
  for (const StepFrame &frame : commands.launches) {
    results.launched = frame.launched;
    for (const Row &row : frame.rows)
      if (row.wantsOutput)
        results.results.push_back({.node = row.node,
                                   .request = row.request,
                                   .token = (row.position * 7 + 3) % 32000,
                                   .report = {}});
  }
}

namespace {

/// Requests that all generate, in steps of all of them.
class Rounds {
public:
  Rounds(int64_t requests, int64_t steps, int64_t waiting)
      : requests(requests), steps(steps), waiting(waiting),
        scheduler(makeScheduler(requests, waiting > 0
                                              ? CachePages::pagesFor(waiting)
                                              : requests * 64)) {
    micros.reserve(static_cast<size_t>(steps));
  }

  /// From prompts to the end; times are those of the last round.
  void round();
  void print() const;

private:
  RequestNumber submit(int64_t tokens, int32_t token, int64_t maxTokens);
  /// The results of a step, and what follows.
  void step() {
    now += std::chrono::milliseconds(10);
    scheduler.onResults(results, now);
    answer(scheduler.commands(), results);
    scheduler.clear();
  }

  /// Until all have ended.
  void drain() {
    while (scheduler.load().running > 0)
      step();
  }

  int64_t requests, steps, waiting;
  Scheduler scheduler;
  ResultFrame results;
  Time now{0};
  std::vector<double> micros;
  int64_t allocated = 0;
};

RequestNumber Rounds::submit(int64_t tokens, int32_t token, int64_t maxTokens) {
  ScheduledRequest request;
  request.spec.prompt.assign(static_cast<size_t>(tokens), token);
  request.spec.maxTokens = maxTokens;
  return scheduler.submit(std::move(request), now).number;
}

void Rounds::round() {
  RequestNumber last = 0;
  if (waiting > 0) {
    submit(waiting, -1, 1);
    answer(scheduler.commands(), results);
    scheduler.clear();
    drain();
  }
  // So that pages are full at different steps.
  for (int64_t i = 0; i < requests; ++i)
    submit(8 + i % 32, static_cast<int32_t>(i), steps + 100);
  answer(scheduler.commands(), results);
  scheduler.clear();
  while (std::ssize(results.results) < requests)
    step();
  if (waiting > 0)
    last = submit(waiting, -1, 1);
  micros.clear();
  int64_t before = test::allocations();
  for (int64_t i = 0; i < steps; ++i) {
    now += std::chrono::milliseconds(10);
    double start = threadMicros();
    scheduler.onResults(results, now);
    micros.push_back(threadMicros() - start);
    answer(scheduler.commands(), results);
    scheduler.clear();
  }
  allocated = test::allocations() - before;
  if (waiting > 0)
    scheduler.finish(last, FinishReason::Cancelled, now);
  drain();
}

void Rounds::print() const {
  std::vector<double> sorted = micros;
  std::sort(sorted.begin(), sorted.end());
  std::printf("%ld requests: a step p50 %.1f us, p99 %.1f us; %ld allocations "
              "in %ld steps\n",
              long(requests), sorted[sorted.size() / 2],
              sorted[sorted.size() * 99 / 100], long(allocated), long(steps));
}

} // namespace

int main(int argc, char **argv) {
  Rounds rounds(argc > 1 ? std::atol(argv[1]) : 1000,
                argc > 2 ? std::atol(argv[2]) : 1000,
                argc > 3 ? std::atol(argv[3]) : 0);
  // As in a server that has run for a while: all memory has been used before.
  rounds.round();
  rounds.round();
  rounds.print();
}
