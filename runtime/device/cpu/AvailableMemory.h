//===- AvailableMemory.h - the memory that this process can still use -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_AVAILABLEMEMORY_H
#define SLUICE_RUNTIME_DEVICE_CPU_AVAILABLEMEMORY_H

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::cpu {

/// Returns how many bytes this process can use before the kernel kills a
/// process, as far as the kernel can tell: the memory that is free or can be
/// reclaimed, but at most what the process's control group (version 2) has
/// left. Returns none if the kernel does not tell. `root` replaces / in paths.
std::optional<uint64_t> availableMemory(const std::string &root = "/");

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_AVAILABLEMEMORY_H
