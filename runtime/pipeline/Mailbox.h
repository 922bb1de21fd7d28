//===- Mailbox.h - a bounded queue in front of a worker -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   comm thread:  if (mailbox.hasRoom()) mailbox.push(std::move(message));
//   worker:       while (mailbox.take(items, /*wait=*/true)) { ... }
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_MAILBOX_H
#define SLUICE_RUNTIME_PIPELINE_MAILBOX_H

#include "runtime/base/Insist.h"
#include "runtime/pipeline/Clock.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <iterator>
#include <limits>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::pipeline {

/// A bounded queue in front of one worker. Other threads push items in order,
/// and the worker takes all queued items at once. Thread-safe.
template <typename Item> class Mailbox {
public:
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  explicit Mailbox(int64_t capacity) : capacity(capacity) {}

  bool hasRoom() const { return size() < capacity; }

  int64_t size() const {
    std::lock_guard lock(mutex);
    return static_cast<int64_t>(items.size());
  }

  /// Appends an item. Waits for memory if there is none, and for nothing else.
  /// The bound is not checked here but by hasRoom(), because a received item
  /// must not be lost.
  void push(Item item) {
    static_assert(std::is_nothrow_move_constructible_v<Item>);
    std::unique_lock lock(mutex);
    if (items.size() == items.capacity())
      insist(lock, [this] { items.reserve(2 * items.size() + 1); });
    items.push_back(std::move(item));
    // Notified under the lock, because the reader of the last item may destroy
    // the mailbox.
    changed.notify_one();
  }

  /// Makes the present take(), or the next one, return without waiting.
  void wake() {
    std::lock_guard lock(mutex);
    woken = true;
    changed.notify_one();
  }

  /// Ends the input; queued items can still be taken.
  void close() {
    {
      std::lock_guard lock(mutex);
      closed = true;
    }
    changed.notify_all();
  }

  /// Appends the first items to `taken`, at most `max`. If `wait` is set, waits
  /// for an item or for wake(). Returns false once the mailbox is closed and
  /// empty.
  bool take(std::vector<Item> &taken, bool wait, int64_t max = unlimited) {
    std::unique_lock lock(mutex);
    if (wait)
      changed.wait(lock, [this] { return closed || woken || !items.empty(); });
    woken = false;
    return move(lock, taken, max);
  }

  /// Like take(), but returns at `deadline` at the latest.
  bool takeUntil(std::vector<Item> &taken, Time deadline) {
    std::unique_lock lock(mutex);
    changed.wait_until(lock, toTimePoint(deadline),
                       [this] { return closed || !items.empty(); });
    return move(lock, taken, unlimited);
  }

private:
  bool move(std::unique_lock<std::mutex> &lock, std::vector<Item> &taken,
            int64_t max) {
    int64_t count = 0;
    // Reserved first, so that no item is lost half-way.
    insist(lock, [&] {
      count = std::min(max, static_cast<int64_t>(items.size()));
      taken.reserve(taken.size() + static_cast<size_t>(count));
    });
    const bool open = !closed || !items.empty();
    const auto end = items.begin() + count;
    std::move(items.begin(), end, std::back_inserter(taken));
    items.erase(items.begin(), end);
    return open;
  }

  int64_t capacity;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<Item> items;
  bool closed = false;
  bool woken = false;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_MAILBOX_H
