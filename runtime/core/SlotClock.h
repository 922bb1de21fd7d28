//===- SlotClock.h - predicts when the slowest stage steps next -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts when the slowest stage takes its next step; the policy's rule uses
// this model of time. A slot is one step of that stage. Rows that are launched
// while the stage is idle start a slot at once. Rows launched while a slot runs
// gather in the next slot, which starts when the running one ends. Slots are
// numbered, and a row keeps the number of the slot that it joined.
//
// The model is approximate: it leaves out links, cancels and the stage's own
// overhead. Guesses that reach the mailbox before the running step began fuse
// with that step, and all further stages then compute both as one step. So a
// slot opens for guesses only in the middle of the slot before it; guesses are
// not needed earlier.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_SLOTCLOCK_H
#define SLUICE_RUNTIME_CORE_SLOTCLOCK_H

#include "runtime/core/Speculation.h"

#include <optional>

namespace sluice {

/// Thread-compatible. `now` must not decrease from call to call.
class SlotClock {
public:
  /// Ends the slots whose time is over and starts those that have gathered
  /// rows.
  void advance(Time now, const SpeculationPolicy &policy);

  /// Adds launched rows to a slot and returns its number.
  uint64_t join(int64_t rows, Time now, const SpeculationPolicy &policy);
  /// Adds more rows of the frame that has just joined `slot`. They are in the
  /// same step, whether the slot runs or gathers.
  void widen(uint64_t slot, int64_t rows, const SpeculationPolicy &policy);
  /// Like join(), for rows that no guess may join: they get a slot of their own
  /// after everything that was launched before.
  uint64_t joinAlone(int64_t rows, Time now, const SpeculationPolicy &policy);

  /// Tells how many rows still live in the running and in the gathering slot. A
  /// slot without rows ends at once.
  void setLiving(int64_t inRunning, int64_t inGathering, Time now,
                 const SpeculationPolicy &policy);

  /// Returns when the next slot opens for guesses; nothing if the stage is
  /// idle, so that guesses may leave now.
  std::optional<Time> opens() const {
    return running ? std::optional<Time>(started + (ends - started) / 2)
                   : std::nullopt;
  }
  /// Returns the same for the slot after the gathering one; nothing if no slot
  /// runs or none gathers.
  std::optional<Time> opensNext(const SpeculationPolicy &policy) const {
    return running && gathering > 0
               ? std::optional<Time>(ends + policy.slot(gathering) / 2)
               : std::nullopt;
  }
  uint64_t runningSlot() const { return runningNumber; }
  /// Returns the slot that rows launched during the running slot would join.
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
