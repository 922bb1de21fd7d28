//===- Tickets.h - numbers for whoever comes first ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   int64_t item;
//   while ((item = tickets.take(loop, items)) != Tickets::none)
//     ...                                 // this thread does the item
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_TICKETS_H
#define SLUICE_RUNTIME_DEVICE_CPU_TICKETS_H

#include <atomic>
#include <cassert>
#include <cstdint>
#include <limits>

namespace sluice::cpu {

/// Deals the items of one parallel loop after another out to the threads that
/// come free. Loops are numbered from 0, in the order in which every thread
/// comes to them, and a thread goes on to the next one only when all items of
/// its own are taken. So when the first item of a loop is taken, all those of
/// the loops before it are: one counter serves all of them, and threads need no
/// barrier in between.
///
/// take() may be called by all threads at a time, and orders no other memory.
class Tickets {
public:
  static constexpr int64_t none = -1;

  /// The next of the items 0 .. items - 1 of `loop`, each to one thread only;
  /// `none` when all are taken. `items` is the same on all threads, and fits 32
  /// bits.
  int64_t take(uint32_t loop, int64_t items) {
    assert(items <= std::numeric_limits<uint32_t>::max());
    uint64_t seen = next.load(std::memory_order_relaxed);
    while (loopOf(seen) <= loop) {
      uint64_t first = uint64_t(loop) << 32;
      uint64_t ticket = loopOf(seen) == loop ? seen : first;
      if (int64_t(ticket - first) >= items)
        return none;
      if (next.compare_exchange_weak(seen, ticket + 1,
                                     std::memory_order_relaxed))
        return int64_t(ticket - first);
    }
    return none; // Another thread has gone on from this loop.
  }

  /// Numbers loops from 0 again. To be called while no thread takes items.
  void reset() { next.store(0, std::memory_order_relaxed); }

private:
  static uint32_t loopOf(uint64_t ticket) {
    return static_cast<uint32_t>(ticket >> 32);
  }

  /// The current loop in the upper half, its next item in the lower one.
  alignas(64) std::atomic<uint64_t> next{0};
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_TICKETS_H
