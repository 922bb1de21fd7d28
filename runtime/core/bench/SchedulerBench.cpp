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
//   SluiceSchedulerBench [REQUESTS [STEPS]]
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Scheduler.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

using namespace sluice;

static int64_t allocations = 0;

void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size))
    return memory;
  std::abort();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

static Scheduler makeScheduler(int64_t requests) {
  HeadLimits limits;
  limits.requests = requests;
  limits.contextLength = 8192;
  limits.framesInFlight = 256;
  limits.prefillRows = 4 * requests;
  limits.sharesPrefixes = true;
  limits.pages = requests * 64;
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

int main(int argc, char **argv) {
  int64_t requests = argc > 1 ? std::atol(argv[1]) : 1000;
  int64_t steps = argc > 2 ? std::atol(argv[2]) : 1000;
  Scheduler scheduler = makeScheduler(requests);
  Time now{0};
  ResultFrame results;
  std::vector<Row> rows;
  for (int64_t i = 0; i < requests; ++i) {
    ScheduledRequest request;
    // So that pages are full at different steps.
    request.spec.prompt.assign(static_cast<size_t>(8 + i % 32),
                               static_cast<int32_t>(i));
    request.spec.maxTokens = steps + 1000;
    scheduler.submit(std::move(request), now);
  }
  // Until all generate: prompts leave in chunks, one after the other.
  while (true) {
    answer(scheduler.commands(), results);
    scheduler.clear();
    if (std::ssize(results.results) == requests)
      break;
    now += std::chrono::milliseconds(10);
    scheduler.onResults(results, now);
  }
  std::vector<double> micros;
  micros.reserve(static_cast<size_t>(steps));
  int64_t before = 0;
  for (int64_t step = 0; step < steps; ++step) {
    now += std::chrono::milliseconds(10);
    if (step == steps / 2)
      before = allocations;
    double start = threadMicros();
    scheduler.onResults(results, now);
    micros.push_back(threadMicros() - start);
    answer(scheduler.commands(), results);
    scheduler.clear();
  }
  int64_t allocated = allocations - before;
  std::sort(micros.begin(), micros.end());
  std::printf("%ld requests: a step p50 %.1f us, p99 %.1f us; allocations in "
              "the last %ld steps: %ld\n",
              long(requests), micros[micros.size() / 2],
              micros[micros.size() * 99 / 100], long(steps / 2),
              long(allocated));
}
