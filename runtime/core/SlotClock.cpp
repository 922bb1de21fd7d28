//===- SlotClock.cpp - predicts when the slowest stage steps next ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/SlotClock.h"

#include <algorithm>
#include <cassert>

namespace sluice {

void SlotClock::start(int64_t rows, Time at, const SpeculationPolicy &policy) {
  running = true;
  sole = false;
  ++runningNumber;
  runningRows = rows;
  started = at;
  ends = at + policy.slot(rows);
}

void SlotClock::advance(Time now, const SpeculationPolicy &policy) {
  while (running && ends <= now) {
    running = false;
    if (int64_t rows = std::exchange(gathering, 0))
      start(rows, ends, policy);
  }
}

uint64_t SlotClock::join(int64_t rows, Time now,
                         const SpeculationPolicy &policy) {
  advance(now, policy);
  if (!running) {
    start(rows, now, policy);
    return runningNumber;
  }
  gathering += rows;
  return gatheringSlot();
}

void SlotClock::widen(uint64_t slot, int64_t rows,
                      const SpeculationPolicy &policy) {
  assert(running && (slot == runningSlot() || slot == gatheringSlot()));
  if (slot == gatheringSlot()) {
    gathering += rows;
    return;
  }
  runningRows += rows;
  ends = started + policy.slot(runningRows);
}

uint64_t SlotClock::joinAlone(int64_t rows, Time now,
                              const SpeculationPolicy &policy) {
  advance(now, policy);
  Time begin = running ? ends : now;
  if (int64_t before = std::exchange(gathering, 0)) {
    begin += policy.slot(before);
    ++runningNumber;
  }
  start(rows, begin, policy);
  sole = true;
  return runningNumber;
}

void SlotClock::setLiving(int64_t inRunning, int64_t inGathering, Time now,
                          const SpeculationPolicy &policy) {
  advance(now, policy);
  gathering = std::min(gathering, inGathering);
  if (!running || inRunning >= runningRows || (sole && inRunning > 0))
    return;
  runningRows = inRunning;
  ends = inRunning > 0 ? std::clamp(started + policy.slot(inRunning), now, ends)
                       : now;
  advance(now, policy);
}

} // namespace sluice
