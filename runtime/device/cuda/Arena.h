//===- Arena.h - owners of device memory and page-locked memory -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_ARENA_H
#define SLUICE_RUNTIME_DEVICE_CUDA_ARENA_H

#include "runtime/device/cuda/driver/Driver.h"

#include <utility>

namespace sluice::cuda {

/// Owns a piece of memory of one device, which outlives it.
class Arena {
public:
  Arena() = default;
  Arena(Arena &&other) noexcept
      : device(std::exchange(other.device, nullptr)), begin(other.begin),
        size(other.size) {}
  Arena &operator=(Arena &&other) noexcept {
    std::swap(device, other.device);
    std::swap(begin, other.begin);
    std::swap(size, other.size);
    return *this;
  }
  ~Arena() {
    if (device)
      device->release(begin);
  }

  static Expected<Arena> allocate(Device &device, uint64_t bytes) {
    Expected<DeviceAddress> address = device.allocate(bytes);
    if (!address)
      return address.status();
    Arena arena;
    arena.device = &device;
    arena.begin = *address;
    arena.size = bytes;
    return arena;
  }

  DeviceAddress address() const { return begin; }
  uint64_t bytes() const { return size; }

private:
  Device *device = nullptr;
  DeviceAddress begin = 0;
  uint64_t size = 0;
};

/// Owns page-locked memory of the host.
class PinnedMemory {
public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory &&other) noexcept
      : device(std::exchange(other.device, nullptr)), held(other.held) {}
  PinnedMemory &operator=(PinnedMemory &&other) noexcept {
    std::swap(device, other.device);
    std::swap(held, other.held);
    return *this;
  }
  ~PinnedMemory() {
    if (device)
      device->releaseHost(held);
  }

  static Expected<PinnedMemory> allocate(Device &device, uint64_t bytes) {
    Expected<HostMemory> memory = device.allocateHost(bytes);
    if (!memory)
      return memory.status();
    PinnedMemory pinned;
    pinned.device = &device;
    pinned.held = *memory;
    return pinned;
  }

  /// Gives this object, which must own nothing, as many bytes.
  Status assign(Device &on, uint64_t bytes) {
    if (bytes == 0)
      return {};
    Expected<PinnedMemory> made = allocate(on, bytes);
    if (made)
      *this = made.take();
    return made.status();
  }

  uint8_t *data() const { return held.host; }
  template <typename T> T *as() const {
    return reinterpret_cast<T *>(held.host);
  }
  DeviceAddress onDevice() const { return held.device; }

private:
  Device *device = nullptr;
  HostMemory held;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_ARENA_H
