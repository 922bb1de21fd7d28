//===- MappedMemory.h - host memory at two addresses ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_MAPPEDMEMORY_H
#define SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_MAPPEDMEMORY_H

#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::cuda::emulator {

/// Host memory that a device has mapped. As with a driver, host and device use
/// different addresses for it. Poisoned at first.
class MappedMemory {
public:
  /// The addresses are null if there is not enough memory.
  explicit MappedMemory(size_t bytes);
  MappedMemory(MappedMemory &&other) noexcept
      : size(other.size), views{std::exchange(other.views[0], nullptr),
                                std::exchange(other.views[1], nullptr)} {}
  MappedMemory &operator=(MappedMemory &&) = delete;
  /// Ends the process if the guard bytes were overwritten.
  ~MappedMemory();

  uint8_t *host() const { return views[0] ? views[0] + guardBytes : nullptr; }
  uint8_t *device() const { return views[1] ? views[1] + guardBytes : nullptr; }

  /// Returns whether the address is one of the device, and not of the host.
  bool isDevices(const uint8_t *address) const {
    return address >= views[1] && address < views[1] + mapped();
  }

private:
  static constexpr size_t guardBytes = 256;
  size_t mapped() const;

  size_t size;
  uint8_t *views[2] = {};
};

} // namespace sluice::cuda::emulator

#endif // SLUICE_RUNTIME_DEVICE_CUDA_EMULATOR_MAPPEDMEMORY_H
