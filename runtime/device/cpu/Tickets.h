//===- Tickets.h - numbers for whoever comes first ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   int64_t item;
//   while ((item = tickets.take(work)) < items)
//     ...                                 // this thread does the item
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_TICKETS_H
#define SLUICE_RUNTIME_DEVICE_CPU_TICKETS_H

#include <atomic>
#include <cstdint>
#include <limits>

namespace sluice::cpu {

/// Deals the items of one work after another out to the threads that come
/// free. Works are numbered from 0, in the order in which every thread comes to
/// them, and a thread goes on to the next one only after a ticket beyond the
/// items of its own. So when the first ticket of a work is taken, all items
/// of those before are, and one counter serves all of them: threads need not
/// meet in between.
///
/// take() may be called by all threads at a time, and orders no other memory.
class Tickets {
public:
  /// Taken for a work that another thread has left behind.
  static constexpr int64_t none = std::numeric_limits<int64_t>::max();

  /// 0, 1, 2, ... of `work`, each to one thread only.
  int64_t take(uint32_t work) {
    uint64_t seen = next.load(std::memory_order_relaxed);
    while (workOf(seen) <= work) {
      uint64_t ticket = workOf(seen) == work ? seen : uint64_t(work) << 32;
      if (next.compare_exchange_weak(seen, ticket + 1,
                                     std::memory_order_relaxed))
        return static_cast<uint32_t>(ticket);
    }
    return none;
  }

  /// Works are numbered from 0 again. While no thread takes tickets.
  void reset() { next.store(0, std::memory_order_relaxed); }

private:
  static uint32_t workOf(uint64_t ticket) {
    return static_cast<uint32_t>(ticket >> 32);
  }

  /// The current work in the upper half, its next ticket in the lower one.
  alignas(64) std::atomic<uint64_t> next{0};
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_TICKETS_H
