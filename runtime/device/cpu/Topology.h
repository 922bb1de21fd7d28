//===- Topology.h - the cores that this process may use -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernel says of the processors in /sys/devices/system/cpu, whose
// files are part of its stable interface. CONTRIBUTING.md says why not hwloc.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_TOPOLOGY_H
#define SLUICE_RUNTIME_DEVICE_CPU_TOPOLOGY_H

#include "runtime/device/cpu/Affinity.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::cpu {

/// The cores of a process: those of the affinity mask that taskset, a cpuset
/// or a launcher has given it.
class Topology {
public:
  /// Of the calling thread's mask. `sysRoot` stands for /sys.
  static Topology read(const std::string &sysRoot = "/sys");
  /// Of a given mask. Empty: one core, processor 0.
  static Topology read(ProcessorSet allowed, const std::string &sysRoot);

  /// All of the mask.
  const ProcessorSet &processors() const { return allowed; }
  /// The hardware threads of each core that are in the mask. Cores of one node
  /// of memory lie side by side, and nodes of one socket. A processor that the
  /// kernel says nothing about is a core.
  const std::vector<ProcessorSet> &cores() const { return coreList; }
  /// Whole processors that the control group's quota is worth (version 2),
  /// rounded up; none: it has no quota.
  std::optional<int64_t> quota() const { return quotaProcessors; }

private:
  ProcessorSet allowed;
  std::vector<ProcessorSet> coreList;
  std::optional<int64_t> quotaProcessors;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_TOPOLOGY_H
