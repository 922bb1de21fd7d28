//===- EmulatedDriver.h - a driver whose GPU is the emulator --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For tests. Each stream has a thread, which does what is in the stream in
// order: so copies and graphs are as asynchronous as on a device, and what the
// host may not touch meanwhile, ThreadSanitizer sees it touch. Device memory is
// the host's, poisoned at first, with guard bytes around it that are looked at
// when it is released. The host's memory that a device has mapped has another
// address there, and a kernel may be given no address of the host's. A thread
// that has not entered the device, or another one since, gets errors, and must
// not give anything back.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDDRIVER_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDDRIVER_H

#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/emulator/EmulatedKernels.h"
#include "runtime/device/cuda/emulator/Emulator.h"

#include <functional>

namespace sluice::cuda::emulator {

/// Of device memory for each kernel of a graph, from its upload or first launch
/// on; a real device's figure is unknown.
constexpr uint64_t graphNodeBytes = 1024;

/// And for products, from openProducts() on.
constexpr uint64_t productBytes = 1 << 20;

enum class CopyKind : uint8_t { ToDevice, ToHost, OnDevice };

struct EmulatedOptions {
  uint64_t memoryBytes = uint64_t{4} << 30;
  int32_t devices = 1;
  int32_t multiprocessors = 4;
  int32_t sharedBytes = 227 << 10; ///< that a block can have
  /// The devices' compute capability.
  int32_t major = 9, minor = 0;
  /// Of threads and blocks; see Emulator.h.
  Order order = Order::Ascending;
  uint64_t seed = 1;
  uint32_t resident = 1;
  /// The n-th (from 1) allocation of device memory, of memory of the host, and
  /// kernel of all graphs fails; 0: none. A kernel that fails breaks the
  /// device.
  int64_t failAllocation = 0;
  int64_t failHostAllocation = 0;
  int64_t failKernel = 0;
  /// The n-th kernel of all graphs, and the n-th copy, never end; and how long
  /// a step may take.
  int64_t stickKernel = 0;
  int64_t stickCopy = 0;
  std::chrono::nanoseconds patience = DeviceOptions().patience;
  /// Every launch of this kernel leaves one of the numbers that it writes
  /// wrong, and of that one never ends; empty: of none.
  std::string wrongKernel = {}, endlessKernel = {};
  /// These two are so only behind another node of their graph, as where two
  /// kernels run at once that must not.
  bool onlyBehindOthers = false;
  /// Only this device's does; -1: that of each.
  int32_t failDevice = -1;
  /// Each byte of device memory and of blocks' shared memory until something is
  /// written there; what a GPU has there, nobody knows.
  uint8_t leftover = 0xff;
  /// None of the kernels' code is for the chip.
  bool foreignChip = false;
  /// A graph's kernels are given no address of the host's; tests that pass
  /// arrays of their own turn it off.
  bool checksAddresses = true;
  /// Of the executable.
  std::span<const SluiceEmulatedKernel> program = programKernels();
  /// Called before each kernel of a graph, on the stream's thread.
  std::function<void(const std::string &kernel)> beforeKernel;
  /// Called for each copy that is asked for, on the caller's thread.
  std::function<void(CopyKind kind, uint64_t bytes)> onCopy;
  /// Called for each graph that is launched, with its nodes, on the caller's
  /// thread.
  std::function<void(uint64_t nodes)> onLaunch;
};

Expected<std::unique_ptr<Driver>> openEmulated(const EmulatedOptions &options);

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDDRIVER_H
