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

/// Whether the word looks like an address of this process where it has memory.
bool isMapped(uint64_t word);

/// What a device has of memory: the allocations, which are the host's memory
/// between guard bytes, the host's memory that it has mapped, and what the
/// driver takes for itself. Thread-safe.
class EmulatedMemory {
public:
  /// Of the options: how much there is, what is in it, and which allocation
  /// fails.
  explicit EmulatedMemory(const EmulatedOptions &options)
      : all(options.memoryBytes), leftover(options.leftover),
        failAllocation(options.failAllocation),
        failHostAllocation(options.failHostAllocation) {}

  uint64_t freeBytes();
  /// Nothing is allocated or mapped.
  bool isEmpty();

  Expected<DeviceAddress> allocate(uint64_t bytes);
  /// Ends the process where a kernel has written beside the memory, or where it
  /// was not allocated.
  void release(DeviceAddress memory);
  Expected<HostMemory> allocateHost(uint64_t bytes);
  void releaseHost(const HostMemory &memory);

  /// For the driver itself. False where there is too little.
  bool take(uint64_t bytes);
  void giveBack(uint64_t bytes);

  /// For tests of those who look for faults: a copy of everything that is
  /// allocated, and a change of one of the 32-bit words that differ from it.
  /// Nothing may run meanwhile.
  std::map<DeviceAddress, std::vector<uint8_t>> copy();
  void spoil(const std::map<DeviceAddress, std::vector<uint8_t>> &before);

  /// Whether the word looks like an address of the process that a device does
  /// not know: the host's of memory that is mapped, or of any other.
  bool isForeign(uint64_t word);

private:
  const uint64_t all;
  const uint8_t leftover;
  const int64_t failAllocation, failHostAllocation;

  std::mutex mutex;                               ///< guards what follows
  std::map<DeviceAddress, uint64_t> blocks;       ///< bytes of each
  std::map<const uint8_t *, MappedMemory> mapped; ///< by the host's address
  uint64_t used = 0;
  int64_t allocations = 0, hostAllocations = 0;
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_EMULATEDMEMORY_H
