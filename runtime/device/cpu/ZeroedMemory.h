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

/// Anonymous pages from the kernel: zero, aligned to a page, given out as they
/// are first touched, or by makeResident(). Move-only owner.
class ZeroedMemory {
public:
  ZeroedMemory() = default;

  /// Error: the kernel refuses, or `bytes` is more than it can address. `what`
  /// names the memory in the message. Zero bytes are no memory.
  static Expected<ZeroedMemory> allocate(uint64_t bytes, const char *what);

  /// Has the kernel give out all of it now, so that no use of it can fail.
  /// Error: there is not as much. Contents stay.
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
