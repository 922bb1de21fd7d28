//===- DeviceArray.cpp - memory for the kernels of tests ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/bed/DeviceArray.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace sluice;
using namespace sluice::cuda;

namespace {

/// The living arrays, by their first addresses.
struct LivingArrays {
  std::mutex mutex;
  std::map<uint64_t, ArrayMemory *> byAddress;

  /// It is never destroyed, since arrays of static storage may outlive any
  /// other object.
  static LivingArrays &get() {
    static auto *arrays = new LivingArrays;
    return *arrays;
  }
};

} // namespace

size_t cuda::elementBytes(Elements elements) {
  switch (elements) {
  case Elements::Int8:
    return 1;
  case Elements::Int16:
  case Elements::Half:
  case Elements::Bfloat:
    return 2;
  case Elements::Int32:
  case Elements::Float:
    return 4;
  case Elements::Int64:
    break;
  }
  return 8;
}

ArrayMemory::ArrayMemory(size_t bytes, Elements elements)
    : elements(elements), size(bytes) {
  void *made = nullptr;
  // Memory of no bytes has an address of its own, too.
  if (posix_memalign(&made, 256, std::max<size_t>(bytes, 1)) != 0)
    std::abort();
  memory = static_cast<uint8_t *>(made);
  std::memset(memory, 0xff, size);
  LivingArrays &living = LivingArrays::get();
  std::lock_guard lock(living.mutex);
  living.byAddress[address()] = this;
}

ArrayMemory::~ArrayMemory() {
  LivingArrays &living = LivingArrays::get();
  {
    std::lock_guard lock(living.mutex);
    living.byAddress.erase(address());
  }
  std::free(memory);
}

ArrayMemory *ArrayMemory::at(uint64_t address) {
  LivingArrays &living = LivingArrays::get();
  std::lock_guard lock(living.mutex);
  auto next = living.byAddress.upper_bound(address);
  if (next == living.byAddress.begin())
    return nullptr;
  // malloc keeps its own data between two allocations, so where one ends no
  // other begins.
  ArrayMemory *array = std::prev(next)->second;
  return address <= array->address() + array->bytes() ? array : nullptr;
}
