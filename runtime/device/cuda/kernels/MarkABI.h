//===- MarkABI.h - a kernel that notes how far a graph has come -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only for finding faults. The rules of KernelABI.h hold here, too.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_MARKABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_MARKABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr const char *markKernel = "sluice_mark";
constexpr int32_t markThreads = 32;

/// sluice_mark: one block of markThreads, no shared memory. Writes `number`
/// when the kernel before it has ended. With a null pointer it does nothing,
/// like an empty kernel.
struct MarkArguments {
  int32_t *progress; ///< host memory, or null
  int64_t number;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_MARKABI_H
