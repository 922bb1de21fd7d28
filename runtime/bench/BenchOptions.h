//===- BenchOptions.h - the options of the load generator -----------------===//
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
  double temperature = 0; ///< of the answers
  GoodputLimits goodput;
  int64_t maxConcurrency = 0; ///< limit in an open loop; 0: none
  int64_t warmupRequests = 0;
  double timeoutSeconds = 600; ///< for one request; 0: none
  bool json = false;
  /// A file that gets a line of JSON for each request; "": none.
  std::string saveRequests;
  /// Members that the report's workload gets besides, and their values, such as
  /// a server's URL.
  std::vector<std::pair<std::string, std::string>> target;
};

/// Adds the options to a command. `options` must outlive the parsing. Wrong
/// values cause CLI11's ValidationErrors.
void addBenchOptions(CLI::App &command, BenchOptions &options);

/// Checks the options together after parsing. Fails if some exclude or need
/// each other.
Status settleBenchOptions(const CLI::App &command, const BenchOptions &options);

/// Returns the name that --arrival uses.
std::string_view arrivalName(Arrival arrival);

} // namespace sluice::bench

#endif // SLUICE_RUNTIME_BENCH_BENCHOPTIONS_H
