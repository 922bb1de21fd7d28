//===- ServingOptions.h - how many requests share the pipeline ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_SERVINGOPTIONS_H
#define SLUICE_RUNTIME_APP_SERVINGOPTIONS_H

#include "runtime/app/CacheStorage.h"
#include "runtime/core/Scheduler.h"
#include "runtime/program/ExecutableDescriptor.h"

namespace CLI {
class App;
}

namespace sluice::app {

/// What the requests of a server, or of a benchmark, share.
struct ServingOptions {
  int64_t requests = 16; ///< that run at once
  /// Bytes of each rank's cache for requests; what guesses need comes beside
  /// it.
  int64_t cacheBytes = int64_t{4} << 30;
  bool sharesPrefixes = true;
  double interTokenMillis = 200; ///< 0: no bound
  SchedulerLimits scheduler;
};

/// Adds those that all commands have in common: not `requests` and `scheduler`.
void addServingOptions(CLI::App &command, ServingOptions &options);

/// Pages of each stage's cache, the same for all stages: as many as the
/// requests can need, or as the bytes hold in that format at the stage where a
/// page takes most. Error: not even one request of one page.
Expected<int64_t> pagesOf(const ServingOptions &options,
                          const ExecutableDescriptor &executable,
                          const CacheStorage &storage, int64_t contextLength);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_SERVINGOPTIONS_H
