//===- ParallelFor.h - parallel calls that wait for each other ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_ENGINE_PARALLELFOR_H
#define SLUICE_RUNTIME_ENGINE_PARALLELFOR_H

#include "runtime/base/Guarded.h"

#include <thread>
#include <vector>

namespace sluice::engine {

/// Calls body(i), which returns a Status, for 0 <= i < count, each on its own
/// thread, so that ranks of this process can wait for each other. Returns when
/// all calls have ended, with the error of the lowest i. If the system gives no
/// thread for a call, that is the call's error.
template <typename Body> Status parallelFor(size_t count, const Body &body) {
  std::vector<Status> results(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Status started = guarded([&] {
      threads.emplace_back([&, i] {
        results[i] = guarded([&]() -> Status { return body(i); });
      });
      return Status();
    });
    if (!started.ok())
      results[i] = started;
  }
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &each : results)
    if (!each.ok())
      return each;
  return {};
}

} // namespace sluice::engine

#endif // SLUICE_RUNTIME_ENGINE_PARALLELFOR_H
