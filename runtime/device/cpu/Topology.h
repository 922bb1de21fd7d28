//===- Topology.h - the cores that this process may use -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the processors of this machine from /sys/devices/system/cpu, whose
// files are part of the kernel's stable interface. CONTRIBUTING.md says why
// Sluice does not use hwloc.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_TOPOLOGY_H
#define SLUICE_RUNTIME_DEVICE_CPU_TOPOLOGY_H

#include "runtime/device/cpu/Affinity.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::cpu {

/// The cores of a process: those in the affinity mask that taskset, a cpuset or
/// a launcher has given it.
class Topology {
public:
  /// Reads the cores in the calling thread's mask. `sysRoot` replaces /sys.
  static Topology read(const std::string &sysRoot = "/sys");
  /// Reads the cores of a given mask. An empty mask gives one core, processor
  /// 0.
  static Topology read(ProcessorSet allowed, const std::string &sysRoot);

  /// All processors of the mask.
  const ProcessorSet &processors() const { return allowed; }
  /// For each core, its hardware threads that are in the mask. Cores of one
  /// NUMA node are adjacent, and so are nodes of one socket. A processor that
  /// the kernel does not describe counts as a core.
  const std::vector<ProcessorSet> &cores() const { return coreList; }
  /// The number of processors that the control group's quota (version 2) is
  /// worth, rounded up; none if there is no quota.
  std::optional<int64_t> quota() const { return quotaProcessors; }

private:
  ProcessorSet allowed;
  std::vector<ProcessorSet> coreList;
  std::optional<int64_t> quotaProcessors;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_TOPOLOGY_H
