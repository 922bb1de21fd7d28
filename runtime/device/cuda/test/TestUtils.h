//===- TestUtils.h - what tests of kernels share --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTUTILS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTUTILS_H

#include "runtime/base/test/RandomFloats.h"
#include "runtime/device/cuda/emulator/Emulator.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace sluice::cuda {

/// An array as device memory has it: aligned to 256 bytes, filled with bytes
/// 0xff (NaNs). It ends where its elements end, for AddressSanitizer.
template <typename T> class DeviceArray {
public:
  DeviceArray() = default;
  explicit DeviceArray(size_t count) : count(count) {
    void *memory = nullptr;
    if (posix_memalign(&memory, 256, bytes()) != 0)
      std::abort();
    held.reset(static_cast<uint8_t *>(memory));
    poison();
  }
  explicit DeviceArray(const std::vector<T> &values)
      : DeviceArray(values.size()) {
    std::copy(values.begin(), values.end(), data());
  }

  void poison() {
    if (count > 0)
      std::memset(held.get(), 0xff, bytes());
  }
  T *data() { return reinterpret_cast<T *>(held.get()); }
  const T *data() const { return reinterpret_cast<const T *>(held.get()); }
  size_t size() const { return count; }
  size_t bytes() const { return count * sizeof(T); }
  T &operator[](size_t i) { return data()[i]; }
  const T &operator[](size_t i) const { return data()[i]; }
  std::vector<T> values() const { return {data(), data() + count}; }

private:
  size_t count = 0;
  std::unique_ptr<uint8_t, void (*)(void *)> held{nullptr, &std::free};
};

template <typename T>
bool sameBits(std::span<const T> a, std::span<const T> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTUTILS_H
