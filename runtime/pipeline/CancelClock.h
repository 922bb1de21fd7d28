//===- CancelClock.h - since when rows are dead ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When the head decided what a rank was told to drop, for measuring how long
// dead rows stay: EpochBoard.h says what is dead, this says since when.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_CANCELCLOCK_H
#define SLUICE_RUNTIME_PIPELINE_CANCELCLOCK_H

#include "runtime/core/Rows.h"

#include <atomic>
#include <memory>

namespace sluice::pipeline {

/// The time of each request's last cancel. Thread-safe.
class CancelClock {
public:
  explicit CancelClock(int64_t requests)
      : count(requests),
        times(std::make_unique<std::atomic<int64_t>[]>(size_t(requests))) {}

  /// Before the mark goes to the board, so that who sees the mark finds the
  /// time; the board's release orders the two.
  void set(RequestId request, Time decided) {
    if (request >= 0 && request < count)
      times[request].store(decided.count(), std::memory_order_relaxed);
  }

  /// 0: never cancelled.
  Time get(RequestId request) const {
    return Time(times[request].load(std::memory_order_relaxed));
  }

private:
  int64_t count;
  std::unique_ptr<std::atomic<int64_t>[]> times;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_CANCELCLOCK_H
