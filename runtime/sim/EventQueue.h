//===- EventQueue.h - virtual time ----------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Virtual time: a run is a list of events with times, and the clock jumps from
// one event to the next. Nothing in the simulator reads another clock, so a run
// is a function of its configuration and seed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_EVENTQUEUE_H
#define SLUICE_RUNTIME_SIM_EVENTQUEUE_H

#include "runtime/core/Rows.h"

#include <cstdint>
#include <vector>

namespace sluice::sim {

/// An object that receives events.
class EventTarget {
public:
  /// Handles the event that was scheduled as `what`; EventQueue::now() is its
  /// time.
  virtual void onEvent(uint64_t what) = 0;

protected:
  ~EventTarget() = default;
};

/// Events in the order of their times; events of one time in the order in which
/// they were scheduled. Thread-compatible.
class EventQueue {
public:
  Time now() const { return clock; }

  /// Schedules an event. `target` must live until then. A time in the past
  /// counts as now.
  void schedule(Time at, EventTarget &target, uint64_t what);

  /// Runs the next event. Returns false if there is none.
  bool runNext();

  bool empty() const { return heap.empty(); }
  /// Returns how many events have run.
  uint64_t happened() const { return count; }

private:
  struct Event {
    Time at{0};
    uint64_t sequence = 0;
    EventTarget *target = nullptr;
    uint64_t what = 0;
  };
  static bool later(const Event &a, const Event &b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }

  Time clock{0};
  uint64_t scheduled = 0;
  uint64_t count = 0;
  /// A heap as of std::push_heap, the earliest event first.
  std::vector<Event> heap;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_EVENTQUEUE_H
