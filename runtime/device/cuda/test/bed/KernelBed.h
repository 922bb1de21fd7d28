//===- KernelBed.h - runs the kernels of tests ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test of a kernel names the kernel and passes its structure of arguments,
// whose pointers point into DeviceArrays:
//
//   emulator::LaunchOptions options;
//   options.grid = {4, 1, 1};
//   Status status =
//       launchKernel(kernelLaunch("sluice_sum_parts", options, arguments));
//
// The kernel runs in the emulator. If a device has been set (DeviceBed.h), it
// runs there as well, on the same numbers. The results are compared, and the
// test goes on with those of the device.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELBED_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELBED_H

#include "runtime/device/cuda/KernelLibrary.h"
#include "runtime/device/cuda/emulator/Emulator.h"

#include <string>
#include <vector>

namespace sluice::cuda {

struct BedLaunch {
  std::string kernel;
  /// Grid, threads and shared memory. The other options are for the emulator
  /// only.
  emulator::LaunchOptions options;
  std::vector<uint64_t> words; ///< the structure of arguments
};

template <typename Arguments>
BedLaunch kernelLaunch(std::string kernel,
                       const emulator::LaunchOptions &options,
                       const Arguments &arguments) {
  return {std::move(kernel), options, argumentWords(arguments)};
}

/// Runs the kernel in the emulator. Errors: there is no such kernel, or its
/// launch fails; they begin with the kernel's name.
Status emulateKernel(const BedLaunch &launch);

class DeviceBed;

/// Sets the device that launchKernel() uses in addition to the emulator;
/// nullptr for none. The caller owns the bed, and resets it before destroying
/// it.
void setDeviceBed(DeviceBed *bed);

/// Runs the kernel in the emulator, and on the device if one is set. Errors:
/// those of emulateKernel() and of DeviceBed::run(). For one thread.
Status launchKernel(const BedLaunch &launch);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELBED_H
