//===- ProcessorCount.h - how many threads to start by default ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_PROCESSORCOUNT_H
#define SLUICE_RUNTIME_DEVICE_CPU_PROCESSORCOUNT_H

#include <cstdint>
#include <string>

namespace sluice::cpu {

/// Physical cores that this process may run on: those of its affinity mask,
/// hyperthreads of a core counted once, and no more than the CPU quota of its
/// control group (version 2). At least 1. `sysRoot` stands for /sys.
int64_t defaultThreadCount(const std::string &sysRoot = "/sys");

/// The same for each of `processes` that share a machine: a part of its cores,
/// and no more than this process is bound to, where a launcher has bound it to
/// a core or a socket.
int64_t threadCountOfSharer(int64_t processes,
                            const std::string &sysRoot = "/sys");

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_PROCESSORCOUNT_H
