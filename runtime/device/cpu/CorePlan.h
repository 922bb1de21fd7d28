//===- CorePlan.h - the number of threads and their cores -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divides the cores of a machine among the processes of a job, and the cores of
// a process among its teams of threads. A team's share of the cores determines
// how many threads it starts by default and where they are pinned.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_COREPLAN_H
#define SLUICE_RUNTIME_DEVICE_CPU_COREPLAN_H

#include "runtime/base/Status.h"
#include "runtime/device/cpu/Topology.h"

#include <span>

namespace sluice::cpu {

/// When threads are pinned to cores.
enum class Pinning : uint8_t {
  Auto, ///< if there are as many threads as the share has cores
  On,   ///< always; needs a hardware thread for each thread
  Off
};

/// Part `index` of `count` consecutive parts of a process's cores, all of about
/// the same size.
struct CoreShare {
  int64_t index = 0;
  int64_t count = 1;
  /// False if another process of the job may run on some of these cores but not
  /// on the same set, because its parts then overlap these.
  bool isExclusive = true;

  /// Returns part `i` of `n` of this share.
  CoreShare part(int64_t i, int64_t n) const {
    return {index * n + i, count * n, isExclusive};
  }
};

/// One process of a job.
struct Tenant {
  std::string machine;  ///< where it runs; equal for processes on one machine
  ProcessorSet allowed; ///< the processors that it may run on
};

/// Returns the share of tenant `self` in the cores that it may run on: all of
/// them if no other tenant may run on any, and one part for each tenant
/// otherwise.
CoreShare shareOf(std::span<const Tenant> tenants, size_t self);

/// Returns the number of cores of the share, or the same part of the quota if
/// that is less; at least 1.
int64_t defaultThreadCount(const Topology &topology, CoreShare share = {});
/// Returns the default for a team that has all cores of this process.
int64_t defaultThreadCount();

/// Returns the processors that each of a team's threads is pinned to, or an
/// empty list if they are not pinned. A thread has a whole core. If the share
/// has fewer cores than threads, a thread has one hardware thread instead; the
/// first hardware thread of every core is used before the second of any. Error,
/// for Pinning::On only: the reason why the threads cannot be pinned. The
/// decision is the same for all shares of a process, so teams of equal size are
/// either all pinned or none is.
Expected<std::vector<ProcessorSet>> placeThreads(const Topology &topology,
                                                 CoreShare share,
                                                 int64_t threads,
                                                 Pinning pinning);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_COREPLAN_H
