//===- EmulatedKernels.h - the kernels that the emulator has --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDKERNELS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDKERNELS_H

#include "runtime/device/cuda/emulator/EmulatedABI.h"

#include <cstring>
#include <span>
#include <vector>

namespace sluice::cuda::emulator {

/// Dynamic shared memory that a generated kernel can reach.
constexpr uint32_t generatedSharedBytes = 48 << 10;

/// Those of kernels/Kernels.h: `words` is their structure of arguments.
std::span<const SluiceEmulatedKernel> runtimeKernels();

/// A kernel of a program for tests, which has been compiled for the emulator
/// from CUDA's sources as the runtime's are.
struct TestKernel {
  const char *name;
  void (*run)(const uint64_t *words);
  /// Its blocks wait for each other: all of them run at a time, as on a GPU
  /// that has room for them.
  bool wholeGrid = false;
};

/// Gives the kernels to devices that are opened from now on; they, with their
/// names, live as long as the process. Kernels of names that are there already
/// stay. Thread-safe.
void addTestKernels(std::span<const TestKernel> kernels);
std::vector<TestKernel> testKernels();

/// Calls a kernel with its structure of arguments, which `words` are.
template <typename Arguments, void kernel(Arguments)>
void callKernel(const uint64_t *words) {
  Arguments arguments;
  std::memcpy(&arguments, words, sizeof(arguments));
  kernel(arguments);
}

/// Those of the executable; empty where there are none.
std::span<const SluiceEmulatedKernel> programKernels();

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDKERNELS_H
