//===- Allocations.h - counts allocations and makes them fail -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the allocations of a test by `new`, and makes them fail. Replaces
// operator new in the whole program that Allocations.cpp is part of, also under
// sanitizers.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_TEST_ALLOCATIONS_H
#define SLUICE_RUNTIME_BASE_TEST_ALLOCATIONS_H

#include <cstddef>
#include <cstdint>
#include <limits>

namespace sluice::test {

/// Returns how often the program has called operator new so far.
int64_t allocations();
/// Returns how often the calling thread has.
int64_t allocationsOfThread();

/// As long as this lives, some allocations throw std::bad_alloc. There can be
/// one at a time.
class LackOfMemory {
public:
  enum class Threads : uint8_t { This, Others };
  static constexpr int64_t all = std::numeric_limits<int64_t>::max();

  /// Which allocations fail.
  struct Which {
    Threads threads = Threads::This; ///< those of the constructor's thread
    size_t above = 0;    ///< those of more bytes; others are not counted below
    int64_t first = 0;   ///< how many succeed before
    int64_t count = all; ///< how many fail; then they succeed again
  };

  explicit LackOfMemory(Which which);
  ~LackOfMemory();
  LackOfMemory(const LackOfMemory &) = delete;

  /// Returns how many allocations the latest one has made fail.
  static int64_t failed();
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_BASE_TEST_ALLOCATIONS_H
