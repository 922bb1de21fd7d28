//===- KernelLibrary.h - finds kernels by name ----------------------------===//
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

/// Returns the structure of a kernel's arguments as the words of a KernelNode.
template <typename Arguments>
std::vector<uint64_t> argumentWords(const Arguments &arguments) {
  static_assert(sizeof(Arguments) % 8 == 0);
  std::vector<uint64_t> words(sizeof(Arguments) / 8);
  std::memcpy(words.data(), &arguments, sizeof(Arguments));
  return words;
}

/// Holds the runtime's kernels and a program's own, on one device. Used by one
/// thread.
class KernelLibrary {
public:
  /// Loads the runtime's kernels and those of `programImage`. Errors: there are
  /// no kernels, or none for this device. `device` outlives the library.
  static Expected<std::unique_ptr<KernelLibrary>>
  load(Device &device, std::span<const uint8_t> programImage);
  ~KernelLibrary();

  /// Adds the kernels of another image. Error: the image has no code for this
  /// device.
  Status add(std::span<const uint8_t> image);

  /// Returns the kernel and allows its blocks `sharedBytes` of dynamic shared
  /// memory. Error: there is no such kernel.
  Expected<Function> find(const std::string &name, uint32_t sharedBytes);

private:
  explicit KernelLibrary(Device &device) : device(device) {}

  struct Entry {
    Function function = nullptr;
    uint32_t sharedBytes = 0; ///< the size that is allowed so far
  };

  Device &device;
  std::vector<Module> modules;
  std::map<std::string, Entry> known;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELLIBRARY_H
