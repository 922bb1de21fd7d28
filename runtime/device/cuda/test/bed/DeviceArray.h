//===- DeviceArray.h - memory that kernels of tests work on ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test fills and reads arrays in the host's memory, and gives kernels their
// addresses. Where the kernels run on a device, these addresses mean nothing
// there: so every array is known as long as it lives, and the bed
// (DeviceBed.h) finds by an address the array that it lies in.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEARRAY_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEARRAY_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace sluice::cuda {

/// How an array's elements are compared. Floating-point numbers that are NaNs
/// on both sides are the same, whatever their bits, since which bits a broken
/// sum has is not the same on every processor: but for those whose bits are all
/// ones, which nobody has written to.
enum class Elements : uint8_t {
  Int8,
  Int16,
  Int32,
  Int64,
  Half,
  Bfloat,
  Float
};

size_t elementBytes(Elements elements);

/// The elements of a type, as far as it says so: a structure is words.
template <typename T> constexpr Elements elementsOf() {
  if constexpr (std::is_same_v<T, float>)
    return Elements::Float;
  return sizeof(T) == 8 && std::is_arithmetic_v<T> ? Elements::Int64
         : sizeof(T) % 4 == 0                      ? Elements::Int32
         : sizeof(T) % 2 == 0                      ? Elements::Int16
                                                   : Elements::Int8;
}

/// The memory of one array: aligned to 256 bytes, filled with bytes 0xff
/// (NaNs). It ends where the array ends, for AddressSanitizer. Making, finding
/// and destroying are thread-safe.
class ArrayMemory {
public:
  ArrayMemory(size_t bytes, Elements elements);
  ~ArrayMemory();
  ArrayMemory(const ArrayMemory &) = delete;
  ArrayMemory &operator=(const ArrayMemory &) = delete;

  /// The living array that has the address, or ends there; nullptr: none.
  static ArrayMemory *at(uint64_t address);

  uint8_t *data() const { return memory; }
  size_t bytes() const { return size; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory); }

  Elements elements;
  /// A device has it in the host's memory, which it has mapped.
  bool isHosts = false;
  /// Words in it may be addresses in other arrays.
  bool hasAddresses = false;

private:
  uint8_t *memory;
  size_t size;
};

/// An array of a test.
template <typename T> class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  DeviceArray() = default;
  explicit DeviceArray(size_t count)
      : count(count), held(std::make_unique<ArrayMemory>(count * sizeof(T),
                                                         elementsOf<T>())) {}
  explicit DeviceArray(const std::vector<T> &values)
      : DeviceArray(values.size()) {
    std::copy(values.begin(), values.end(), data());
  }

  /// What follows says something of an array that has memory; it returns the
  /// array itself.
  DeviceArray &&holding(Elements elements) && {
    held->elements = elements;
    return std::move(*this);
  }
  DeviceArray &&holdingAddresses() && {
    held->hasAddresses = true;
    return std::move(*this);
  }
  DeviceArray &&inHostMemory() && {
    held->isHosts = true;
    return std::move(*this);
  }

  T *data() { return held ? reinterpret_cast<T *>(held->data()) : nullptr; }
  const T *data() const {
    return held ? reinterpret_cast<const T *>(held->data()) : nullptr;
  }
  size_t size() const { return count; }
  size_t bytes() const { return count * sizeof(T); }
  T &operator[](size_t i) { return data()[i]; }
  const T &operator[](size_t i) const { return data()[i]; }
  std::vector<T> values() const { return {data(), data() + count}; }

private:
  size_t count = 0;
  std::unique_ptr<ArrayMemory> held;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_DEVICEARRAY_H
