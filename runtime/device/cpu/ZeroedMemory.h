//===- ZeroedMemory.h - large memory that costs nothing until it is used --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ZEROEDMEMORY_H
#define SLUICE_RUNTIME_DEVICE_CPU_ZEROEDMEMORY_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace sluice::cpu {

/// Owns anonymous pages from the kernel. They are zero, and they become
/// resident when they are first touched, or in makeResident(). Move-only.
class ZeroedMemory {
public:
  ZeroedMemory() = default;

  /// Allocates memory, aligned to a page; zero bytes allocate nothing. Errors:
  /// the kernel refuses, or `bytes` is more than it can address. `what` names
  /// the memory in the message.
  static Expected<ZeroedMemory> allocate(uint64_t bytes, const char *what);

  /// Makes all of the memory resident now, so that no later use of it can fail.
  /// Its content is unchanged. Error: there is not enough memory.
  Status makeResident(const char *what);

  ZeroedMemory(ZeroedMemory &&other) noexcept;
  ZeroedMemory &operator=(ZeroedMemory &&other) noexcept;
  ~ZeroedMemory();

  float *floats() const { return static_cast<float *>(base); }
  uint64_t bytes() const { return length; }

private:
  void *base = nullptr;
  uint64_t length = 0;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ZEROEDMEMORY_H
