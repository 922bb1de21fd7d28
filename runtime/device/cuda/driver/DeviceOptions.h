//===- DeviceOptions.h - options for the use of a GPU ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The defaults are right for serving a model. The options serve to measure what
// a mechanism of the device is worth, and to find a faulty kernel: an error on
// a GPU names the call that found it and not the kernel that caused it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DEVICEOPTIONS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DEVICEOPTIONS_H

#include "runtime/base/Status.h"

#include <chrono>
#include <string_view>

namespace sluice::cuda {

struct DeviceOptions {
  /// Lets a kernel of a graph start before the kernel before it has ended, if
  /// the chip and the code support that (programmatic dependent launch).
  bool dependentLaunch = true;
  /// Makes multiprocessors give kernels of graphs as much shared memory as they
  /// have, instead of what each kernel needs (the carve-out). A multiprocessor
  /// must be empty before its carve-out can change from one kernel to the next.
  bool largestCarveout = true;
  /// Gives each task of a program's plan launches of its own, where one launch
  /// could compute several (JoinedTasks.h). The results have the same bits.
  bool oneTask = false;
  /// Launches each node of a graph separately and waits for it, so that an
  /// error, or an endless wait, names its kernel.
  bool oneNode = false;
  /// Puts a kernel after each kernel of a graph, which notes that the kernel
  /// has ended. So a graph that does not end tells where it stands.
  bool marks = false;
  /// The time after which a step counts as endless; longer than any step takes.
  std::chrono::nanoseconds patience = std::chrono::seconds(60);
};

/// Reads words that are separated by commas:
///   no-pdl  carveout=max  carveout=default  one-task  one-node  marks
///   patience=SECONDS
/// If two contradict each other, the last one counts. Other options are as in
/// `usual`. Errors: any other word; a number of seconds that is not positive or
/// not below a day.
Expected<DeviceOptions> readDeviceOptions(std::string_view text,
                                          const DeviceOptions &usual = {});

/// Reads the options of the environment variable SLUICE_CUDA_OPTIONS, in these
/// words. Its name precedes an error.
Expected<DeviceOptions>
deviceOptionsOfEnvironment(const DeviceOptions &usual = {});

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_DEVICEOPTIONS_H
