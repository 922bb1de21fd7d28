//===- Turns.h - how long threads take for work that they share -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the benchmarks of the CPU's code measure with.
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

/// Bytes to read before the caches hold nothing of the first.
constexpr size_t coldBytes = size_t(256) << 20;

struct FreeBytes {
  void operator()(uint8_t *p) const { std::free(p); }
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeBytes>;

/// `size` bytes at a cache line's start, each written once. Throws
/// std::bad_alloc.
AlignedBytes makeBytes(size_t size);

/// Calls `body(thread, turn)` for turns 0, 1, ... on all threads, which start
/// each turn together, for about `seconds`; the median seconds of a turn.
double timeTurns(int64_t threads, double seconds,
                 const std::function<void(int64_t, int64_t)> &body);

/// Bytes a second that `threads` threads read from memory, summing words.
double readBandwidth(int64_t threads);

} // namespace sluice::cpu::bench

#endif // SLUICE_RUNTIME_DEVICE_CPU_BENCH_TURNS_H
