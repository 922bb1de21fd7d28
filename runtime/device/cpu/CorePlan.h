//===- CorePlan.h - how many threads, and on which cores ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Teams of threads share the cores of a process, and processes those of a
// machine. A team has a part of them: so many threads it starts by default, and
// there its threads are pinned.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_COREPLAN_H
#define SLUICE_RUNTIME_DEVICE_CPU_COREPLAN_H

#include "runtime/base/Status.h"
#include "runtime/device/cpu/Topology.h"

#include <span>

namespace sluice::cpu {

/// Whether threads are pinned.
enum class Pinning : uint8_t {
  Auto, ///< where they are as many as their part has cores
  On,   ///< where there is a hardware thread for each
  Off
};

/// Part `index` of `count` about equal, consecutive parts of a process's cores.
struct CoreShare {
  int64_t index = 0;
  int64_t count = 1;
  /// Whether nobody of the same job has other parts of the same cores, which
  /// would lie across these.
  bool isExclusive = true;

  /// Part `i` of `n` of this one.
  CoreShare part(int64_t i, int64_t n) const {
    return {index * n + i, count * n, isExclusive};
  }
};

/// A process of a job.
struct Tenant {
  std::string machine;  ///< where it runs; equal for those of one machine
  ProcessorSet allowed; ///< what it may run on there
};

/// What tenant `self` has of the cores that it may run on: all of them where it
/// has been bound to some of its own, a part where others may run on the same.
CoreShare shareOf(std::span<const Tenant> tenants, size_t self);

/// Cores of the share, but no more than a part of the quota; at least 1.
int64_t defaultThreadCount(const Topology &topology, CoreShare share = {});
/// The same of this process.
int64_t defaultThreadCount();

/// What each of a team's threads is pinned to: a core, or where the share has
/// fewer cores than threads a hardware thread, the first of all cores before
/// the second of any. Empty: they are not pinned. Error of Pinning::On: why
/// they cannot be. It is the same for all parts of the share's cores, so that
/// teams of as many threads are all pinned, or none.
Expected<std::vector<ProcessorSet>> placeThreads(const Topology &topology,
                                                 CoreShare share,
                                                 int64_t threads,
                                                 Pinning pinning);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_COREPLAN_H
