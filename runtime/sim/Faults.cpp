//===- Faults.cpp - what goes wrong, from a seed --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/Faults.h"

#include "runtime/core/Random.h"

using namespace sluice;
using namespace sluice::sim;

uint32_t RandomStream::bits() {
  if (left == 0) {
    words = philox(
        {static_cast<uint32_t>(blocks), static_cast<uint32_t>(blocks >> 32), 1,
         0},
        {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    ++blocks;
    left = 4;
  }
  return words[--left];
}

int64_t RandomStream::between(int64_t low, int64_t high) {
  uint64_t choices = static_cast<uint64_t>(high - low) + 1;
  // The high half of the product: even to within choices / 2^32.
  return low + static_cast<int64_t>((uint64_t{bits()} * choices) >> 32);
}

Time RandomStream::upTo(Time limit) {
  return Time(
      static_cast<int64_t>(static_cast<double>(limit.count()) * uniform()));
}

Time Faults::messageDelay() {
  if (rates.delayedMessages <= 0 || !random.chance(rates.delayedMessages))
    return Time(0);
  return random.upTo(rates.messageDelay);
}

double Faults::stepFactor() {
  if (rates.slowSteps <= 0 || !random.chance(rates.slowSteps))
    return 1;
  return 1 + random.uniform() * (rates.slowFactor - 1);
}

bool Faults::wrongAnswer() {
  return rates.wrongAnswers > 0 && random.chance(rates.wrongAnswers);
}

Faults::Copies Faults::cancelCopies() {
  Copies copies;
  if (rates.lostCancels > 0 && random.chance(rates.lostCancels)) {
    copies.count = 0;
    return copies;
  }
  if (rates.lateCancels > 0 && random.chance(rates.lateCancels))
    copies.delays[0] = random.upTo(rates.cancelDelay);
  if (rates.repeatedCancels > 0 && random.chance(rates.repeatedCancels)) {
    copies.count = 2;
    copies.delays[1] = random.upTo(rates.cancelDelay);
  }
  return copies;
}
