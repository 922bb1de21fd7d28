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

/// Returns the kernels of kernels/Kernels.h; `words` is their structure of
/// arguments.
std::span<const SluiceEmulatedKernel> runtimeKernels();

/// A kernel of a test program. Like the runtime's kernels, it is compiled for
/// the emulator from CUDA sources.
struct TestKernel {
  const char *name;
  void (*run)(const uint64_t *words);
  /// Whether its blocks wait for each other. All of them are then resident
  /// together, as on a GPU that has room for them.
  bool wholeGrid = false;
};

/// Makes the kernels available to devices that are opened from now on. The
/// array and the names must live as long as the process. Kernels whose names
/// exist already are not replaced. Thread-safe.
void addTestKernels(std::span<const TestKernel> kernels);
std::vector<TestKernel> testKernels();

/// Calls a kernel with the structure of arguments that `words` holds.
template <typename Arguments, void kernel(Arguments)>
void callKernel(const uint64_t *words) {
  Arguments arguments;
  std::memcpy(&arguments, words, sizeof(arguments));
  kernel(arguments);
}

/// Returns the generated kernels of the executable; empty if there are none.
std::span<const SluiceEmulatedKernel> programKernels();

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDKERNELS_H
