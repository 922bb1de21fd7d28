//===- EmulatedDriver.h - a driver whose GPU is the emulator --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests. Each stream has a thread that executes the stream's work in order.
// So copies and graphs are as asynchronous as on a device, and ThreadSanitizer
// finds accesses of the host that race with them.
//
// Device memory is host memory. It is poisoned at first and has guard bytes
// around it, which are checked when it is released. Host memory that a device
// has mapped has another address there, and kernels must not be given host
// addresses. A thread that has not entered the device, or has entered another
// one since, gets errors, and must not release anything.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDDRIVER_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDDRIVER_H

#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/emulator/EmulatedKernels.h"
#include "runtime/device/cuda/emulator/Emulator.h"

#include <functional>

namespace sluice::cuda::emulator {

/// The device memory that a graph takes for each of its kernels, from its
/// upload or first launch on. How much a real device takes is unknown.
constexpr uint64_t graphNodeBytes = 1024;

/// The device memory that products take from openProducts() on.
constexpr uint64_t productBytes = 1 << 20;

enum class CopyKind : uint8_t { ToDevice, ToHost, OnDevice };

struct EmulatedOptions {
  uint64_t memoryBytes = uint64_t{4} << 30;
  int32_t devices = 1;
  int32_t multiprocessors = 4;
  int32_t sharedBytes = 227 << 10; ///< the most that a block can have
  /// The devices' compute capability.
  int32_t major = 9, minor = 0;
  /// The order of threads and blocks; see Emulator.h.
  Order order = Order::Ascending;
  uint64_t seed = 1;
  uint32_t resident = 1;
  /// Makes the n-th (from 1) allocation of device memory, of host memory, or
  /// the n-th kernel of all graphs fail; 0 for none. A kernel that fails breaks
  /// the device.
  int64_t failAllocation = 0;
  int64_t failHostAllocation = 0;
  int64_t failKernel = 0;
  /// Makes the n-th kernel of all graphs, or the n-th copy, never end; 0 for
  /// none. `patience` is how long a step may take.
  int64_t stickKernel = 0;
  int64_t stickCopy = 0;
  std::chrono::nanoseconds patience = DeviceOptions().patience;
  /// Makes each launch of wrongKernel leave one of the numbers that it writes
  /// wrong, and each launch of endlessKernel never end. Empty for none.
  std::string wrongKernel = {}, endlessKernel = {};
  /// Restricts these two to kernels that come after another node of their
  /// graph, as if two kernels ran concurrently that must not.
  bool onlyBehindOthers = false;
  /// Restricts failures to this device; -1 for all devices.
  int32_t failDevice = -1;
  /// The value of each byte of device memory, and of blocks' shared memory,
  /// until it is written. On a GPU these bytes are undefined.
  uint8_t leftover = 0xff;
  /// Makes all code of the kernels be for another chip.
  bool foreignChip = false;
  /// Refuses host addresses among the arguments of a graph's kernels. Tests
  /// that pass arrays of their own turn it off.
  bool checksAddresses = true;
  /// The generated kernels of the executable.
  std::span<const SluiceEmulatedKernel> program = programKernels();
  /// Called before each kernel of a graph, on the stream's thread.
  std::function<void(const std::string &kernel)> beforeKernel;
  /// Called for each copy that is requested, on the caller's thread.
  std::function<void(CopyKind kind, uint64_t bytes)> onCopy;
  /// Called for each graph that is launched, with its nodes, on the caller's
  /// thread.
  std::function<void(uint64_t nodes)> onLaunch;
};

Expected<std::unique_ptr<Driver>> openEmulated(const EmulatedOptions &options);

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDDRIVER_H
