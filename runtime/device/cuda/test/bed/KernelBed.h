//===- KernelBed.h - where kernels of tests run ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests of kernels name a kernel, and give it its structure of arguments, whose
// pointers lead into DeviceArrays:
//
//   emulator::LaunchOptions options;
//   options.grid = {4, 1, 1};
//   Status status =
//       launchKernel(kernelLaunch("sluice_sum_parts", options, arguments));
//
// It runs in the emulator. Where a device has been set (DeviceBed.h), it runs
// there as well, on the same numbers: the two are compared, and the test goes
// on with what the device has made.
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
  /// Grid, threads and shared memory; all else is for the emulator alone.
  emulator::LaunchOptions options;
  std::vector<uint64_t> words; ///< the structure of arguments
};

template <typename Arguments>
BedLaunch kernelLaunch(std::string kernel,
                       const emulator::LaunchOptions &options,
                       const Arguments &arguments) {
  return {std::move(kernel), options, argumentWords(arguments)};
}

/// In the emulator. Errors: there is no such kernel, or its launch fails; they
/// begin with the kernel's name.
Status emulateKernel(const BedLaunch &launch);

class DeviceBed;

/// The device that launchKernel() uses beside the emulator; nullptr: none. It
/// stays the caller's, who takes it back before it goes.
void setDeviceBed(DeviceBed *bed);

/// In the emulator, and on the device where one is set. Errors:
/// emulateKernel()'s and DeviceBed::run()'s. One thread.
Status launchKernel(const BedLaunch &launch);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELBED_H
