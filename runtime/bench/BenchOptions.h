//===- BenchOptions.h - what users ask the load generator for -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BENCH_BENCHOPTIONS_H
#define SLUICE_RUNTIME_BENCH_BENCHOPTIONS_H

#include "runtime/bench/HttpBackend.h"
#include "runtime/bench/Summary.h"

namespace CLI {
class App;
}

namespace sluice::bench {

struct BenchOptions {
  WorkloadOptions workload;
  PromptShape prompt;
  /// url "": no server; the caller gives a backend of its own.
  HttpOptions http;
  GoodputLimits goodput;
  int64_t maxConcurrency = 0; ///< of an open loop; 0: no limit
  int64_t warmupRequests = 0;
  double timeoutSeconds = 600; ///< for one request; 0: none
  bool json = false;
  std::string saveRequests; ///< file of a JSON line for each request; "": none
};

/// Adds the options to a command, which must live as long as `options`. Wrong
/// values are CLI11's ValidationErrors.
void addBenchOptions(CLI::App &command, BenchOptions &options);

/// To be called after parsing: what only all options together show, and the key
/// file's content. Errors: options that exclude or need each other, a key file
/// that cannot be read.
Status settleBenchOptions(const CLI::App &command, BenchOptions &options);

/// The name by which --arrival knows it.
std::string_view arrivalName(Arrival arrival);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_BENCHOPTIONS_H
