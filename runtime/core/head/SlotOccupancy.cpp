//===- SlotOccupancy.cpp - which rows are in which slot -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/head/SlotOccupancy.h"

#include <algorithm>

namespace sluice {

void SlotOccupancy::giveSlot(const StepFrame &frame, bool hasPrompt, Time now) {
  int64_t rows = std::ssize(frame.rows);
  uint64_t slot = hasPrompt ? clock.joinAlone(rows, now, policy)
                            : clock.join(rows, now, policy);
  for (const Row &row : frame.rows)
    if (row.wantsOutput)
      requests[row.request].tree.root().slot = slot;
}

uint64_t SlotOccupancy::giveSlotToGuess(const StepFrame &frame, uint64_t joined,
                                        Time now) {
  if (frame.rows.empty())
    return clock.join(1, now, policy);
  clock.widen(joined, 1, policy);
  return joined;
}

void SlotOccupancy::count(uint64_t joined) {
  seen.clear();
  int64_t prompts = 0;
  counted = {};
  guesses = 0;
  for (const HeadRequest &request : requests) {
    if (!request.active)
      continue;
    double weight = 0;
    for (const GuessNode &node : request.tree.nodes()) {
      if (!node.launched)
        continue;
      guesses += node.parentIndex >= 0;
      addToSlot(node.slot);
      if (node.slot == joined)
        weight = std::max(weight, node.pathChance);
    }
    if (request.rootInFlight() && request.inPrompt())
      prompts = std::max(prompts, std::min(prefillRows, request.knownRows));
    counted.weight += weight;
  }
  runningLiving = 0;
  counted.widest = prompts;
  counted.underWay = std::ssize(seen);
  for (const SlotRows &each : seen) {
    if (each.slot == joined)
      counted.rows = each.rows;
    else
      counted.widest = std::max(counted.widest, each.rows);
    if (each.slot == clock.runningSlot())
      runningLiving = each.rows;
  }
}

/// Counts a row in its slot. There are few slots under way, because rows come
/// back in the order in which they left.
void SlotOccupancy::addToSlot(uint64_t slot) {
  for (SlotRows &each : seen)
    if (each.slot == slot) {
      ++each.rows;
      return;
    }
  seen.push_back({slot, 1});
}

void SlotOccupancy::countAfterDeaths(Time now) {
  count(clock.gatheringSlot());
  clock.setLiving(runningLiving, counted.rows, now, policy);
}

bool SlotOccupancy::isIdle() {
  count(clock.gatheringSlot());
  return counted.underWay == 0;
}

} // namespace sluice
