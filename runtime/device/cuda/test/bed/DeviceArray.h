//===- DeviceArray.h - memory for the kernels of tests --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test fills and reads arrays in host memory, and gives their addresses to
// kernels. If the kernels run on a device, these addresses mean nothing there.
// So every array is registered as long as it lives, and the bed (DeviceBed.h)
// finds the array to which an address belongs.
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
/// on both sides are equal, whatever their bits, since the bits of an invalid
/// sum differ between processors. NaNs with all bits set are an exception,
/// since they mark unwritten memory.
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

/// Returns the elements of a type, as far as it is known; a structure is words.
template <typename T> constexpr Elements elementsOf() {
  if constexpr (std::is_same_v<T, float>)
    return Elements::Float;
  return sizeof(T) == 8 && std::is_arithmetic_v<T> ? Elements::Int64
         : sizeof(T) % 4 == 0                      ? Elements::Int32
         : sizeof(T) % 2 == 0                      ? Elements::Int16
                                                   : Elements::Int8;
}

/// The memory of one array. It is aligned to 256 bytes and filled with bytes
/// 0xff (NaNs), and its allocation ends where the array ends, for
/// AddressSanitizer. Creation, lookup and destruction are thread-safe.
class ArrayMemory {
public:
  ArrayMemory(size_t bytes, Elements elements);
  ~ArrayMemory();
  ArrayMemory(const ArrayMemory &) = delete;
  ArrayMemory &operator=(const ArrayMemory &) = delete;

  /// Returns the living array that contains the address or ends there, or
  /// nullptr if there is none.
  static ArrayMemory *at(uint64_t address);

  uint8_t *data() const { return memory; }
  size_t bytes() const { return size; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory); }

  Elements elements;
  /// Whether the array lies in mapped host memory when a device uses it.
  bool isHosts = false;
  /// Whether words in the array may be addresses in other arrays.
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

  /// The following functions state a property of an array that has memory, and
  /// return the array itself.
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
