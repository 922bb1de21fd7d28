//===- AvailableMemory.h - how much memory there is to be had -------------===//
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

/// Bytes that this process could use without anybody being killed for it, as
/// far as the kernel can tell: what is free or can be dropped, and no more than
/// its control group (version 2) has left. None: the kernel does not tell.
/// `root` stands for /.
std::optional<uint64_t> availableMemory(const std::string &root = "/");

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_AVAILABLEMEMORY_H
