//===- Bench.cpp - the load generator -------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Bench.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/bench/BenchReport.h"

using namespace sluice;
using namespace sluice::bench;

namespace {

RunnerOptions runnerOptions(const BenchOptions &options,
                            const BenchHooks &hooks) {
  RunnerOptions runner;
  runner.closedLoop = options.workload.concurrency > 0;
  runner.maxInFlight =
      runner.closedLoop ? options.workload.concurrency : options.maxConcurrency;
  runner.timeout = std::chrono::duration_cast<Time>(
      std::chrono::duration<double>(options.timeoutSeconds));
  runner.shouldStop = hooks.shouldStop;
  return runner;
}

Status warmUp(const BenchOptions &options, Backend &backend,
              const BenchHooks &hooks) {
  if (options.warmupRequests == 0)
    return {};
  Expected<Workload> workload =
      makeWarmup(options.workload, options.warmupRequests);
  if (!workload)
    return workload.status();
  if (hooks.progress)
    hooks.progress("warming up with " + std::to_string(workload->size()) +
                   " requests");
  RunRecord run =
      runWorkload(*workload, backend, runnerOptions(options, hooks));
  if (run.stopped)
    return failure("stopped while warming up");
  for (const RequestRecord &record : run.requests)
    if (record.succeeded())
      return {};
  return failure("no request of the warm-up succeeded: ",
                 run.requests.front().error);
}

} // namespace

Expected<BenchResult> bench::runBench(const BenchOptions &options,
                                      Backend &backend,
                                      const BenchHooks &hooks) {
  Expected<Workload> workload = makeWorkload(options.workload);
  if (!workload)
    return workload.status();
  SLUICE_RETURN_IF_ERROR(warmUp(options, backend, hooks));
  RunnerOptions runner = runnerOptions(options, hooks);
  if (hooks.progress)
    runner.onProgress = [&](const RunProgress &progress) {
      hooks.progress(progressLine(progress));
    };
  BenchResult result;
  result.run = runWorkload(*workload, backend, runner);
  result.summary = summarize(result.run, options.goodput);
  result.report = options.json ? reportJson(result.summary, options)
                               : reportTable(result.summary, options);
  if (!options.saveRequests.empty())
    SLUICE_RETURN_IF_ERROR(
        writeFile(options.saveRequests, requestLines(result.run)));
  return result;
}
