//===- EmulatedKernels.h - the kernels that the emulator has --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDKERNELS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDKERNELS_H

#include "runtime/device/cuda/emulator/EmulatedABI.h"

#include <span>

namespace sluice::cuda::emulator {

/// Dynamic shared memory that a generated kernel can reach.
constexpr uint32_t generatedSharedBytes = 48 << 10;

/// Those of kernels/Kernels.h: `words` is their structure of arguments.
std::span<const SluiceEmulatedKernel> runtimeKernels();

/// Those of the executable; empty where there are none.
std::span<const SluiceEmulatedKernel> programKernels();

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDKERNELS_H
