//===- Turns.h - times work that threads share ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The benchmarks of the CPU's code use these functions.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_BENCH_TURNS_H
#define SLUICE_RUNTIME_DEVICE_CPU_BENCH_TURNS_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>

namespace sluice::cpu::bench {

/// Bytes whose reading evicts all earlier data from the caches.
constexpr size_t coldBytes = size_t(256) << 20;

struct FreeBytes {
  void operator()(uint8_t *p) const { std::free(p); }
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeBytes>;

/// Returns `size` bytes, aligned to a cache line, each written once. Throws
/// std::bad_alloc.
AlignedBytes makeBytes(size_t size);

/// Calls `body(thread, turn)` for turns 0, 1, ... on all threads, which start
/// each turn together, for about `seconds`. Returns the median seconds of a
/// turn.
double timeTurns(int64_t threads, double seconds,
                 const std::function<void(int64_t, int64_t)> &body);

/// Returns the bytes a second that `threads` threads read from memory, summing
/// words.
double readBandwidth(int64_t threads);

} // namespace sluice::cpu::bench

#endif // SLUICE_RUNTIME_DEVICE_CPU_BENCH_TURNS_H
