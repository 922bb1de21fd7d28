//===- Faults.cpp - random faults of a run --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Faults.h"

#include "runtime/core/Random.h"

using namespace sluice;
using namespace sluice::sim;

uint32_t FaultRandom::bits() {
  if (remaining == 0) {
    words = philox(
        {static_cast<uint32_t>(blocks), static_cast<uint32_t>(blocks >> 32), 1,
         0},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    ++blocks;
    remaining = 4;
  }
  return words[--remaining];
}

int64_t FaultRandom::between(int64_t low, int64_t high) {
  uint64_t choices = static_cast<uint64_t>(high - low) + 1;
  // The high half of the product is uniform to within choices / 2^32.
  return low + static_cast<int64_t>((uint64_t{bits()} * choices) >> 32);
}

Time FaultRandom::upTo(Time limit) {
  return Time(
      static_cast<int64_t>(static_cast<double>(limit.count()) * uniform()));
}

Faults::Passage Faults::passage() {
  Passage passage;
  if (happens(rates.delayedMessages))
    passage.delay = random.upTo(rates.messageDelay);
  if (happens(rates.lostMessages))
    passage.copies = 0;
  else if (happens(rates.repeatedMessages))
    passage.copies = 2;
  passage.overtakes = happens(rates.overtakingMessages);
  return passage;
}

double Faults::stepFactor() {
  if (!happens(rates.slowSteps))
    return 1;
  return 1 + random.uniform() * (rates.slowFactor - 1);
}

std::optional<Time> Faults::crash() {
  if (!happens(rates.crashes))
    return std::nullopt;
  return random.upTo(rates.crashesUntil);
}

Faults::Copies Faults::cancelCopies() {
  Copies copies;
  if (happens(rates.lostCancels)) {
    copies.count = 0;
    return copies;
  }
  if (happens(rates.lateCancels))
    copies.delays[0] = random.upTo(rates.cancelDelay);
  if (happens(rates.repeatedCancels)) {
    copies.count = 2;
    copies.delays[1] = random.upTo(rates.cancelDelay);
  }
  copies.overtake = happens(rates.overtakingCancels);
  return copies;
}
