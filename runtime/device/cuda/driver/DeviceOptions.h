//===- DeviceOptions.h - how a GPU is used --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To use a model, leave all of these as they are. They serve to measure what a
// mechanism of the device is worth, and to find a kernel that is wrong: on a
// GPU an error says which call found it, and not which kernel made it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DEVICEOPTIONS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DEVICEOPTIONS_H

#include "runtime/base/Status.h"

#include <chrono>
#include <string_view>

namespace sluice::cuda {

struct DeviceOptions {
  /// A kernel of a graph may start before the kernel before it has ended, where
  /// chip and code can wait by themselves (programmatic dependent launch).
  bool dependentLaunch = true;
  /// Multiprocessors give kernels of graphs as much shared memory as they have
  /// instead of what each kernel needs (the carve-out). Where it changes from
  /// one kernel to the next, a multiprocessor has to be empty in between.
  bool largestCarveout = true;
  /// Each node of a graph is launched by itself and waited for, so that an
  /// error, or a wait without an end, names its kernel.
  bool oneNode = false;
  /// Behind each kernel of a graph stands another one that notes that the
  /// kernel has ended. So a graph without an end says where it stands.
  bool marks = false;
  /// Longer than any step takes: what has not ended by then does not end.
  std::chrono::nanoseconds patience = std::chrono::seconds(60);
};

/// Words separated by commas:
///   no-pdl  carveout=max  carveout=default  one-node  marks  patience=SECONDS
/// Of two that contradict each other the last one counts. What they do not say
/// is as in `usual`. Error: another word, or no positive number of seconds.
Expected<DeviceOptions> readDeviceOptions(std::string_view text,
                                          const DeviceOptions &usual = {});

/// What the environment variable SLUICE_CUDA_OPTIONS says, in these words; its
/// name stands in front of an error.
Expected<DeviceOptions>
deviceOptionsOfEnvironment(const DeviceOptions &usual = {});

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DEVICEOPTIONS_H
