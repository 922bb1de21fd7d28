//===- KernelLibrary.h - kernels by name ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELLIBRARY_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELLIBRARY_H

#include "runtime/device/cuda/driver/Driver.h"

#include <cstring>
#include <map>

namespace sluice::cuda {

/// The structure of a kernel's arguments as KernelNode has them.
template <typename Arguments>
std::vector<uint64_t> argumentWords(const Arguments &arguments) {
  static_assert(sizeof(Arguments) % 8 == 0);
  std::vector<uint64_t> words(sizeof(Arguments) / 8);
  std::memcpy(words.data(), &arguments, sizeof(Arguments));
  return words;
}

/// The runtime's kernels and a program's own, on one device. For one thread.
class KernelLibrary {
public:
  /// Errors: no kernels, or none for this device. `device` outlives it.
  static Expected<std::unique_ptr<KernelLibrary>>
  load(Device &device, std::span<const uint8_t> programImage);
  ~KernelLibrary();

  /// Adds the kernels of another image. Error: none of its code is for this
  /// device.
  Status add(std::span<const uint8_t> image);

  /// The kernel, whose blocks may have `sharedBytes` of dynamic shared memory.
  /// Error: there is none.
  Expected<Function> find(const std::string &name, uint32_t sharedBytes);

private:
  explicit KernelLibrary(Device &device) : device(device) {}

  struct Entry {
    Function function = nullptr;
    uint32_t sharedBytes = 0; ///< allowed
  };

  Device &device;
  std::vector<Module> modules;
  std::map<std::string, Entry> known;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELLIBRARY_H
