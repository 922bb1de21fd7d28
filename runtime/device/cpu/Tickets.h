//===- Tickets.h - the distribution of items to free threads --------------===//
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

/// Distributes the items of successive parallel loops to threads as they become
/// free. Loops are numbered from 0, in the order in which every thread reaches
/// them. A thread continues with the next loop only when all items of its
/// current loop are taken. So when the first item of a loop is taken, all items
/// of the earlier loops are: one counter is enough for all loops, and the
/// threads need no barrier between them.
///
/// All threads may call take() at the same time. It orders no other memory.
class Tickets {
public:
  static constexpr int64_t none = -1;

  /// Returns the next of the items 0 .. items - 1 of `loop`; each item is
  /// returned to one thread only. Returns `none` when all are taken. `items` is
  /// the same on all threads and fits in 32 bits.
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
    return none; // Another thread has moved on to a later loop.
  }

  /// Restarts the numbering of loops at 0. No thread may take items meanwhile.
  void reset() { next.store(0, std::memory_order_relaxed); }

private:
  static uint32_t loopOf(uint64_t ticket) {
    return static_cast<uint32_t>(ticket >> 32);
  }

  /// The current loop in the upper half, its next item in the lower half.
  alignas(64) std::atomic<uint64_t> next{0};
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_TICKETS_H
