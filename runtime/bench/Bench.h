//===- Bench.h - the load generator ---------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   BenchOptions options;
//   addBenchOptions(command, options);
//   ... parse ...
//   settleBenchOptions(command, options);
//   Expected<std::unique_ptr<Backend>> backend =
//       makeHttpBackend(http, options.prompt, options.workload.seed);
//   Expected<BenchResult> result = runBench(options, **backend, hooks);
//   writeOutput(result->report);
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_BENCH_H
#define SLUICE_RUNTIME_BENCH_BENCH_H

#include "runtime/bench/BenchOptions.h"

namespace sluice::bench {

/// Callbacks to the caller of a run, on its thread.
struct BenchHooks {
  std::function<bool()> shouldStop;                  ///< see RunnerOptions
  std::function<void(const std::string &)> progress; ///< lines for the user
};

struct BenchResult {
  RunRecord run;
  Summary summary;
  std::string report; ///< a table, or JSON with options.json
};

/// Warms up, runs the workload, and writes --save-requests. Fails if the
/// workload cannot be made, if the warm-up is stopped or all of its requests
/// fail, or if a file cannot be written. Failed requests of the workload are
/// not an error but a part of the result.
Expected<BenchResult> runBench(const BenchOptions &options, Backend &backend,
                               const BenchHooks &hooks);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_BENCH_H
