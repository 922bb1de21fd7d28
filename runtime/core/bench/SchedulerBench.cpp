//===- SchedulerBench.cpp - the time of a scheduling step -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures how long a scheduling step takes: from the results of a step in
// which every request has a row to the frame of the next step, without layers
// and threads. It measures the thread's own CPU time, so other programs on the
// machine only matter by the caches and the half of a core that they take.
//
//   SluiceSchedulerBench [REQUESTS [STEPS [WAITING]]]
//
// With WAITING, the cache has as many pages as a prompt of so many tokens
// takes, and that prompt waits for them all the time; most of it is pinned.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/Allocations.h"
#include "runtime/core/CachePages.h"
#include "runtime/core/Scheduler.h"

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

/// Makes results for all rows that want an output.
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

/// Runs requests that all generate, in steps of all requests.
class Rounds {
public:
  Rounds(int64_t requests, int64_t steps, int64_t waiting)
      : requests(requests), steps(steps), waiting(waiting),
        scheduler(makeScheduler(requests, waiting > 0
                                              ? CachePages::pagesFor(waiting)
                                              : requests * 64)) {
    micros.reserve(static_cast<size_t>(steps));
  }

  /// Runs from prompts to the end; the times are those of the last round.
  void round();
  void print() const;

private:
  RequestNumber submit(int64_t tokens, int32_t token, int64_t maxTokens);
  /// Handles the results of a step and answers the next one.
  void step() {
    now += std::chrono::milliseconds(10);
    scheduler.onResults(results, now);
    answer(scheduler.commands(), results);
    scheduler.clear();
  }

  /// Runs until all requests have ended.
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
  // The lengths differ, so that pages become full at different steps.
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
  // The first rounds use all memory once, as in a server that has run for a
  // while.
  rounds.round();
  rounds.round();
  rounds.print();
}
