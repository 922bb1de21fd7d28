//===- Faults.h - random faults of a run ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All random numbers of a run come from its seed: its faults (Faults, in the
// order of the calls) and the draft's guesses (Oracle.h, keyed by the path, so
// that they are the same under every schedule).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_FAULTS_H
#define SLUICE_RUNTIME_SIM_FAULTS_H

#include "runtime/core/Rows.h"

#include <array>
#include <cstdint>
#include <optional>

namespace sluice::sim {

/// A sequence of random numbers, which is the same for the same seed
/// everywhere.
class FaultRandom {
public:
  explicit FaultRandom(uint64_t seed) : seed(seed) {}

  uint32_t bits();
  /// Returns a number in [0, 1).
  double uniform() { return bits() * 0x1p-32; }
  bool chance(double probability) { return uniform() < probability; }
  /// Returns one of low .. high.
  int64_t between(int64_t low, int64_t high);
  /// Returns a time from 0 up to `limit`.
  Time upTo(Time limit);

private:
  uint64_t seed;
  uint64_t blocks = 0;
  std::array<uint32_t, 4> words{};
  int remaining = 0;
};

/// The faults and their rates. By default there are none.
struct FaultRates {
  /// The share of messages that arrive up to `messageDelay` late. Messages of
  /// one lane keep their order, so later ones wait as well.
  double delayedMessages = 0;
  Time messageDelay{0};
  /// The share of steps that take up to `slowFactor` times as long.
  double slowSteps = 0;
  double slowFactor = 1;
  /// The shares of cancels, for each rank, that are lost; that come twice, the
  /// second time up to `cancelDelay` late and overtaken by others; and that
  /// come late.
  double lostCancels = 0;
  double repeatedCancels = 0;
  double lateCancels = 0;
  Time cancelDelay{0};

  // Faults that a run does not survive: all its requests end as errors.
  /// The share of messages between stages, and from and to the head, that are
  /// lost.
  double lostMessages = 0;
  /// The share of these messages that come twice.
  double repeatedMessages = 0;
  /// The share of ranks, without the head's, that die, at a time up to
  /// `crashesUntil`.
  double crashes = 0;
  Time crashesUntil{0};

  // Planted faults, which show that the checks of a run can fail.
  /// The share of the last stage's answers that name another token.
  double wrongAnswers = 0;
  /// The shares of messages and cancels that arrive at once, before those under
  /// way.
  double overtakingMessages = 0;
  double overtakingCancels = 0;
  /// The share of frames between stages whose guesses come after those of the
  /// next frame.
  double lateGuesses = 0;
  /// The share of requests with a deadline of which the scheduler is not told.
  double forgottenDeadlines = 0;
  /// The share of requests that the scheduler takes for one tenant's.
  double forgottenTenants = 0;
};

/// Decides about one event after the other. Thread-compatible.
class Faults {
public:
  Faults(const FaultRates &rates, uint64_t seed) : rates(rates), random(seed) {}

  /// What happens to a message under way.
  struct Passage {
    Time delay{0};
    int copies = 1; ///< how many copies arrive
    bool overtakes = false;
  };
  Passage passage();
  double stepFactor();
  /// Returns when a rank dies, if it does.
  std::optional<Time> crash();
  bool wrongAnswer() { return happens(rates.wrongAnswers); }
  bool guessesComeLate() { return happens(rates.lateGuesses); }
  bool deadlineIsForgotten() { return happens(rates.forgottenDeadlines); }
  bool tenantIsForgotten() { return happens(rates.forgottenTenants); }
  /// When the copies of a cancel leave after the decision: the first `count`
  /// entries of `delays`.
  struct Copies {
    int count = 1;
    std::array<Time, 2> delays{};
    bool overtake = false;
  };
  Copies cancelCopies();

private:
  /// Draws no number if the fault never occurs, so that other faults stay the
  /// same.
  bool happens(double rate) { return rate > 0 && random.chance(rate); }

  FaultRates rates;
  FaultRandom random;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_FAULTS_H
