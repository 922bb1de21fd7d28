//===- SimLink.h - simulated links between ranks --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A directed link carries one message after the other: a message waits until
// the one before it has left, takes size / bandwidth to leave, and arrives one
// latency later. A control lane is a link of its own, so cancels do not queue
// behind activations.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_SIMLINK_H
#define SLUICE_RUNTIME_SIM_SIMLINK_H

#include "runtime/sim/EventQueue.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace sluice::sim {

struct LinkTimes {
  Time latency{0};
  double bytesPerSecond = 0; ///< 0: no limit

  Time transfer(int64_t bytes) const {
    return bytesPerSecond <= 0
               ? Time(0)
               : Time(static_cast<int64_t>(static_cast<double>(bytes) * 1e9 /
                                           bytesPerSecond));
  }
};

/// The traffic over a link.
struct LinkCounters {
  uint64_t messages = 0;
  uint64_t bytes = 0;
};

/// Carries messages of one type. The slots of messages under way are reused.
/// Thread-compatible.
template <typename Message> class SimLink final : public EventTarget {
public:
  /// Receives each message on its arrival.
  using Deliver = std::function<void(Message)>;

  /// With `keepsOrder`, no message overtakes an earlier one, even if that is
  /// delayed.
  SimLink(EventQueue &queue, const LinkTimes &times, bool keepsOrder,
          Deliver deliver)
      : queue(queue), times(times), keepsOrder(keepsOrder),
        deliver(std::move(deliver)) {}
  SimLink(const SimLink &) = delete;
  SimLink &operator=(const SimLink &) = delete;

  /// Sends a message of `bytes` now and returns when it arrives. It is delayed
  /// by `delay` under way. With `overtakes` it arrives before all messages
  /// under way, which no real link does.
  Time send(Message message, int64_t bytes, Time delay,
            bool overtakes = false) {
    Time sent = std::max(queue.now(), freeAt) + times.transfer(bytes);
    freeAt = sent;
    Time arrives = sent + times.latency + delay;
    if (overtakes)
      arrives = queue.now();
    else if (keepsOrder)
      arrives = std::max(arrives, lastArrival);
    lastArrival = std::max(arrives, lastArrival);
    ++counted.messages;
    counted.bytes += static_cast<uint64_t>(bytes);
    size_t slot = slots.size();
    if (freeSlots.empty()) {
      slots.push_back(std::move(message));
    } else {
      slot = freeSlots.back();
      freeSlots.pop_back();
      slots[slot] = std::move(message);
    }
    queue.schedule(arrives, *this, slot);
    return arrives;
  }

  void onEvent(uint64_t slot) override {
    Message message = std::move(slots[slot]);
    freeSlots.push_back(slot);
    deliver(std::move(message));
  }

  const LinkCounters &counters() const { return counted; }

private:
  EventQueue &queue;
  LinkTimes times;
  bool keepsOrder;
  Deliver deliver;
  Time freeAt{0};
  Time lastArrival{0};
  std::vector<Message> slots; ///< messages under way, and free slots
  std::vector<size_t> freeSlots;
  LinkCounters counted;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_SIMLINK_H
