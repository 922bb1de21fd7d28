//===- LackOfMemory.h - makes allocations of tests fail -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces operator new in the whole program that LackOfMemory.cpp is part of.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_TEST_LACKOFMEMORY_H
#define SLUICE_RUNTIME_BASE_TEST_LACKOFMEMORY_H

#include <cstdint>
#include <limits>

namespace sluice::test {

/// As long as this lives, some allocations by `new` throw std::bad_alloc. There
/// can be one at a time.
class LackOfMemory {
public:
  static constexpr int64_t all = std::numeric_limits<int64_t>::max();
  enum class Threads : uint8_t { This, Others };

  /// Of the allocations by the thread that calls this, or by all others, the
  /// first `first` succeed, `count` fail, and the rest succeeds.
  explicit LackOfMemory(int64_t first, int64_t count = all,
                        Threads threads = Threads::This);
  ~LackOfMemory();
  LackOfMemory(const LackOfMemory &) = delete;

  /// Returns how many allocations the latest one has made fail.
  static int64_t failed();
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_BASE_TEST_LACKOFMEMORY_H
