//===- EventQueue.h - virtual time ----------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Virtual time: what happens is a list of events, each with its time, and the
// clock jumps from one to the next. Nothing in the simulator reads another
// clock, so a run is a function of its configuration and seed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_EVENTQUEUE_H
#define SLUICE_RUNTIME_SIM_EVENTQUEUE_H

#include "runtime/core/Rows.h"

#include <cstdint>
#include <vector>

namespace sluice::sim {

/// Something that events happen to.
class EventTarget {
public:
  /// The event that was scheduled as `what` is due; EventQueue::now() is its
  /// time.
  virtual void onEvent(uint64_t what) = 0;

protected:
  ~EventTarget() = default;
};

/// Events in the order of their times; those of one time in the order in which
/// they were scheduled. Thread-compatible.
class EventQueue {
public:
  Time now() const { return clock; }

  /// `target` must live until the event has happened. A time in the past is
  /// taken for now.
  void schedule(Time at, EventTarget &target, uint64_t what);

  /// Lets the next event happen. False: there is none.
  bool runNext();

  bool empty() const { return heap.empty(); }
  /// Events that have happened.
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
  std::vector<Event> heap; ///< the earliest first, as of std::push_heap
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_EVENTQUEUE_H
