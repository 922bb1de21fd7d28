//===- SlotOccupancy.h - which rows are in which slot ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_SLOTOCCUPANCY_H
#define SLUICE_RUNTIME_CORE_HEAD_SLOTOCCUPANCY_H

#include "runtime/core/SlotClock.h"
#include "runtime/core/head/RequestTable.h"

namespace sluice {

/// Gives launched rows their slots of the slowest stage (SlotClock.h) and
/// counts the living rows of each slot. Thread-compatible.
class SlotOccupancy {
public:
  SlotOccupancy(const HeadLimits &limits, RequestTable &requests,
                const SpeculationPolicy &policy)
      : requests(requests), policy(policy), prefillRows(limits.prefillRows) {}

  /// Ends the slots whose time is over; see SlotClock.
  void advance(Time now) { clock.advance(now, policy); }

  /// Gives a complete frame of certain rows its slot. Guesses do not join the
  /// slot of a frame with rows of prompts.
  void giveSlot(const StepFrame &frame, bool hasPrompt, Time now);
  /// Returns the slot of a guess that is to become the next row of `frame`. All
  /// rows of a frame are in one step, which is `joined` unless the first row
  /// starts a slot.
  uint64_t giveSlotToGuess(const StepFrame &frame, uint64_t joined, Time now);
  /// Returns the slot of a row of a batch (Sync mode).
  uint64_t giveSlotToBatchRow(Time now) { return clock.join(1, now, policy); }

  /// Counts the living rows of each slot; `joined` is the slot that new rows
  /// would join.
  void count(uint64_t joined);
  /// Counts, and lets slots end that have no living rows any more.
  void countAfterDeaths(Time now);
  /// The load of the slot to join, as of the last count.
  const SlotLoad &load() const { return counted; }
  /// Guesses in flight, as of the last count.
  int64_t guessesAlive() const { return guesses; }
  /// Counts, and returns whether no slot has living rows.
  bool isIdle();

  uint64_t runningSlot() const { return clock.runningSlot(); }
  uint64_t gatheringSlot() const { return clock.gatheringSlot(); }
  int64_t gatheringRows() const { return clock.gatheringRows(); }
  /// As the methods of these names of SlotClock.
  std::optional<Time> opens() const { return clock.opens(); }
  std::optional<Time> opensNext() const { return clock.opensNext(policy); }

private:
  void addToSlot(uint64_t slot);

  RequestTable &requests;
  const SpeculationPolicy &policy;
  int64_t prefillRows;
  SlotClock clock;
  SlotLoad counted;
  int64_t runningLiving = 0; ///< living rows of the running slot
  int64_t guesses = 0;
  struct SlotRows {
    uint64_t slot = 0;
    int64_t rows = 0;
  };
  std::vector<SlotRows> seen; ///< scratch memory of count()
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_SLOTOCCUPANCY_H
