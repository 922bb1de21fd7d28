//===- EmulatedMemory.h - the memory of an emulated device ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDMEMORY_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDMEMORY_H

#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/emulator/MappedMemory.h"

#include <map>
#include <mutex>
#include <vector>

namespace sluice::cuda::emulator {

inline uint8_t *pointer(DeviceAddress address) {
  return reinterpret_cast<uint8_t *>(address);
}
inline DeviceAddress addressOf(const void *memory) {
  return reinterpret_cast<DeviceAddress>(memory);
}

/// Returns whether the word looks like an address of mapped memory of this
/// process.
bool isMapped(uint64_t word);

/// The memory of a device: its allocations, which are host memory between guard
/// bytes; the host memory that it has mapped; and what the driver takes for
/// itself. Thread-safe.
class EmulatedMemory {
public:
  /// Uses the options that say how much memory there is, what is in it at
  /// first, and which allocation fails.
  explicit EmulatedMemory(const EmulatedOptions &options)
      : all(options.memoryBytes), leftover(options.leftover),
        failAllocation(options.failAllocation),
        failHostAllocation(options.failHostAllocation) {}

  uint64_t freeBytes();
  /// Returns whether nothing is allocated or mapped.
  bool isEmpty();

  Expected<DeviceAddress> allocate(uint64_t bytes);
  /// Releases the memory. Ends the process if a kernel has written to its guard
  /// bytes, or if it was not allocated.
  void release(DeviceAddress memory);
  Expected<HostMemory> allocateHost(uint64_t bytes);
  void releaseHost(const HostMemory &memory);

  /// Takes memory for the driver itself. Returns false if there is too little.
  bool take(uint64_t bytes);
  void giveBack(uint64_t bytes);

  /// For tests of tools that look for faults: copy() returns a copy of
  /// everything that is allocated, and spoil() changes one of the 32-bit words
  /// that differ from it. No work may run meanwhile.
  std::map<DeviceAddress, std::vector<uint8_t>> copy();
  void spoil(const std::map<DeviceAddress, std::vector<uint8_t>> &before);

  /// Returns whether the word looks like an address of the process that a
  /// device does not know: the host address of mapped memory, or any other.
  bool isForeign(uint64_t word);

private:
  const uint64_t all;
  const uint8_t leftover;
  const int64_t failAllocation, failHostAllocation;

  std::mutex mutex;                         ///< guards the following fields
  std::map<DeviceAddress, uint64_t> blocks; ///< the sizes by address
  std::map<const uint8_t *, MappedMemory> mapped; ///< by host address
  uint64_t used = 0;
  int64_t allocations = 0, hostAllocations = 0;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDMEMORY_H
