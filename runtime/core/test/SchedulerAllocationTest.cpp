//===- SchedulerAllocationTest.cpp - a scheduling step allocates nothing --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/Allocations.h"
#include "runtime/core/Scheduler.h"

#include <gtest/gtest.h>

using namespace sluice;
using sluice::test::allocations;

namespace {

/// Runs requests that all generate, in steps of all requests.
class Steps {
public:
  Steps(int64_t requests, int64_t stages, bool sharesPrefixes) {
    HeadLimits limits;
    limits.requests = requests;
    limits.contextLength = 4096;
    limits.stages = stages;
    limits.sharesPrefixes = sharesPrefixes;
    SpeculationOptions off;
    off.mode = SpeculationMode::Off;
    PipelineTimes times;
    std::array<Time, StepTimes::rowCounts.size()> steps;
    steps.fill(std::chrono::milliseconds(10));
    times.slowest = StepTimes(steps);
    Head head = Head::create(limits, off, times).take();
    scheduler.emplace(Scheduler::create(std::move(head), {}).take());
    for (int64_t i = 0; i < requests; ++i) {
      ScheduledRequest request;
      request.spec.prompt.assign(static_cast<size_t>(8 + i % 32),
                                 static_cast<int32_t>(i));
      scheduler->submit(std::move(request), now);
      // Answers frames as they leave, because prompts go in chunks.
      answer();
    }
  }

  /// Handles the results of all waiting rows and answers the next step.
  void step() {
    now += std::chrono::milliseconds(10);
    std::swap(results, next);
    next.results.clear();
    scheduler->onResults(results, now);
    answer();
  }
  int64_t tokens = 0;

private:
  void answer() {
    HeadCommands &commands = scheduler->commands();
    for (const StepFrame &frame : commands.launches) {
      next.launched = frame.launched;
      for (const Row &row : frame.rows)
        if (row.wantsOutput) {
          ResultRow &result = next.results.emplace_back();
          result.node = row.node;
          result.request = row.request;
          result.token = (row.position * 7 + row.request) % 32000;
        }
    }
    tokens += std::ssize(scheduler->events().tokens);
    scheduler->clear();
  }

  std::optional<Scheduler> scheduler;
  ResultFrame results, next;
  Time now{0};
};

TEST(SchedulerAllocationTest, StepsAllocateNothing) {
  for (bool sharesPrefixes : {false, true})
    for (int64_t stages : {1, 3}) {
      Steps steps(100, stages, sharesPrefixes);
      // Runs until every list has grown to its size.
      for (int i = 0; i < 200; ++i)
        steps.step();
      int64_t tokens = steps.tokens, before = allocations();
      for (int i = 0; i < 300; ++i)
        steps.step();
      EXPECT_EQ(allocations(), before) << stages << sharesPrefixes;
      EXPECT_GE(steps.tokens - tokens, 300 * (100 / stages));
    }
}

} // namespace
