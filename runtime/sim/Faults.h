//===- Faults.h - what goes wrong, from a seed ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All random numbers of a run come from its seed: what goes wrong (Faults, in
// the order in which it is asked) and what the draft guesses (Oracle.h, by
// place, so that it is the same under every schedule).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_FAULTS_H
#define SLUICE_RUNTIME_SIM_FAULTS_H

#include "runtime/core/Rows.h"

#include <array>
#include <cstdint>
#include <optional>

namespace sluice::sim {

/// Random numbers one after the other; the same for the same seed everywhere.
class FaultRandom {
public:
  explicit FaultRandom(uint64_t seed) : seed(seed) {}

  uint32_t bits();
  /// In [0, 1).
  double uniform() { return bits() * 0x1p-32; }
  bool chance(double probability) { return uniform() < probability; }
  /// One of low .. high.
  int64_t between(int64_t low, int64_t high);
  /// From nothing up to `limit`.
  Time upTo(Time limit);

private:
  uint64_t seed;
  uint64_t blocks = 0;
  std::array<uint32_t, 4> words{};
  int remaining = 0;
};

/// What goes wrong and how often. As it is: nothing does.
struct FaultRates {
  /// Of any message: comes up to `messageDelay` later. Messages of one lane
  /// keep their order, so those behind it wait as well.
  double delayedMessages = 0;
  Time messageDelay{0};
  /// Of steps: take up to `slowFactor` times as long.
  double slowSteps = 0;
  double slowFactor = 1;
  /// Of cancels, for each rank: never come; come twice, the second time up to
  /// `cancelDelay` later and overtaken by others; or come late themselves.
  double lostCancels = 0;
  double repeatedCancels = 0;
  double lateCancels = 0;
  Time cancelDelay{0};

  // What a run does not get over: all its requests end as errors.
  /// Of messages between stages, from and to the head: never come.
  double lostMessages = 0;
  /// Likewise: come twice.
  double repeatedMessages = 0;
  /// Of ranks but the head's: die, at a time up to `crashesUntil`.
  double crashes = 0;
  Time crashesUntil{0};

  // Not faults of a run: they show that its checks can fail.
  /// Of the last stage's answers: name another token.
  double wrongAnswers = 0;
  /// Of messages and cancels: arrive at once, past those under way.
  double overtakingMessages = 0;
  double overtakingCancels = 0;
  /// Of frames between stages: their guesses come behind those of the next.
  double lateGuesses = 0;
  /// Of requests with a deadline: the scheduler does not know of it.
  double forgottenDeadlines = 0;
};

/// Decides about one thing after the other. Thread-compatible.
class Faults {
public:
  Faults(const FaultRates &rates, uint64_t seed) : rates(rates), random(seed) {}

  /// What becomes of a message on the way.
  struct Passage {
    Time delay{0};
    int copies = 1; ///< that arrive
    bool overtakes = false;
  };
  Passage passage();
  double stepFactor();
  /// When a rank dies, if it does.
  std::optional<Time> crash();
  bool wrongAnswer() { return happens(rates.wrongAnswers); }
  bool guessesComeLate() { return happens(rates.lateGuesses); }
  bool deadlineIsForgotten() { return happens(rates.forgottenDeadlines); }
  /// When copies of a cancel leave, after the decision; the first `count` of
  /// `delays` hold.
  struct Copies {
    int count = 1;
    std::array<Time, 2> delays{};
    bool overtake = false;
  };
  Copies cancelCopies();

private:
  /// Draws nothing where it never does: what else is drawn stays the same.
  bool happens(double rate) { return rate > 0 && random.chance(rate); }

  FaultRates rates;
  FaultRandom random;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_FAULTS_H
