//===- SlotClock.h - when the slowest stage steps next --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When the slowest stage takes its next step, as far as the head can tell: the
// model of time that the policy's rule speaks of. A slot is one step of that
// stage. Rows that are launched while it is idle start a slot at once; rows
// launched while one runs gather in the next, which starts when that one ends.
// Slots are numbered; a row keeps the number of the one that it joined.
//
// The model is a little off: links, cancels and the stage's own overhead are
// not in it. Guesses that come to the mailbox before the running step began
// fuse with it, and each stage behind takes the whole of both for one step, so
// a slot is open for guesses only from the middle of the one before it. They
// are not needed earlier.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_SLOTCLOCK_H
#define SLUICE_RUNTIME_CORE_SLOTCLOCK_H

#include "runtime/core/Speculation.h"

#include <optional>

namespace sluice {

/// Thread-compatible. `now` never falls from call to call.
class SlotClock {
public:
  /// Slots end, and those that have gathered rows start.
  void advance(Time now, const SpeculationPolicy &policy);

  /// Rows are launched; the number of the slot that they belong to.
  uint64_t join(int64_t rows, Time now, const SpeculationPolicy &policy);
  /// More rows in the frame that has just joined `slot`: they are in the same
  /// step, be it running or gathering.
  void widen(uint64_t slot, int64_t rows, const SpeculationPolicy &policy);
  /// The same as join() for rows that no guess may join: they have a slot to
  /// themselves, behind everything that was launched before.
  uint64_t joinAlone(int64_t rows, Time now, const SpeculationPolicy &policy);

  /// Rows have died: so many are left in the running and in the gathering slot.
  /// A slot without rows ends at once.
  void setLiving(int64_t inRunning, int64_t inGathering, Time now,
                 const SpeculationPolicy &policy);

  /// From when on guesses may leave; none: now, as the stage is idle.
  std::optional<Time> opens() const {
    return running ? std::optional<Time>(started + (ends - started) / 2)
                   : std::nullopt;
  }
  /// The same for the slot after the gathering one; none: nothing runs or
  /// gathers.
  std::optional<Time> opensNext(const SpeculationPolicy &policy) const {
    return running && gathering > 0
               ? std::optional<Time>(ends + policy.slot(gathering) / 2)
               : std::nullopt;
  }
  uint64_t runningSlot() const { return runningNumber; }
  /// The slot that rows launched while another runs would join.
  uint64_t gatheringSlot() const { return runningNumber + 1; }
  int64_t gatheringRows() const { return gathering; }

private:
  void start(int64_t rows, Time at, const SpeculationPolicy &policy);

  bool running = false;
  bool sole = false; ///< the running slot came from joinAlone()
  uint64_t runningNumber = 0;
  int64_t runningRows = 0;
  int64_t gathering = 0;
  Time started{0};
  Time ends{0};
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SLOTCLOCK_H
