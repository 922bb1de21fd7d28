//===- CountingKernel.h - a kernel that shows that it has run -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests of code that launches kernels in the emulator.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_COUNTINGKERNEL_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_COUNTINGKERNEL_H

#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/emulator/EmulatedABI.h"

namespace sluice::cuda {

/// A kernel with one parameter, a pointer: adds one to the int32 at that
/// address.
inline void bump(const uint64_t *words) {
  sluice_emulated_wait();
  if (sluice_emulated_thread() == 0)
    ++*reinterpret_cast<int32_t *>(words[0]);
}

/// Keeps the device if it has been given up: its kernel runs until the process
/// ends, and none of its resources may be released.
inline void keepGivenUp(std::unique_ptr<Device> &device) {
  static auto *kept = new std::vector<std::unique_ptr<Device>>;
  if (device && device->isGivenUp())
    kept->push_back(std::move(device));
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_COUNTINGKERNEL_H
