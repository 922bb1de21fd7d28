//===- ServingOptions.h - the limits of concurrent requests ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_SERVINGOPTIONS_H
#define SLUICE_RUNTIME_ENGINE_SERVINGOPTIONS_H

#include "runtime/core/Scheduler.h"
#include "runtime/engine/CacheStorage.h"
#include "runtime/program/ExecutableDescriptor.h"

namespace sluice::engine {

/// What the concurrent requests of a server or benchmark share.
struct ServingOptions {
  int64_t requests = 16; ///< the most that run at once
  /// Bytes of each rank's cache for requests; guesses need additional bytes.
  int64_t cacheBytes = int64_t{4} << 30;
  bool sharesPrefixes = true;
  double interTokenMillis = 200; ///< 0: no limit
  SchedulerLimits scheduler;
};

/// Returns the number of pages of each stage's cache, the same for all stages:
/// as many as the requests can need, or as `cacheBytes` holds at the stage with
/// the largest pages. Fails if a request of one page does not fit.
Expected<int64_t> pagesOf(const ServingOptions &options,
                          const ExecutableDescriptor &executable,
                          const CacheStorage &storage, int64_t contextLength);

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_SERVINGOPTIONS_H
