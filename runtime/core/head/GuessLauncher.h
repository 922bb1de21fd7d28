//===- GuessLauncher.h - launches guesses behind certain rows -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_GUESSLAUNCHER_H
#define SLUICE_RUNTIME_CORE_HEAD_GUESSLAUNCHER_H

#include "runtime/core/head/FramesUnderWay.h"
#include "runtime/core/head/SlotOccupancy.h"

namespace sluice {

/// Launches guesses that are already in the trees of their requests (Async
/// mode). Thread-compatible.
class GuessLauncher {
public:
  /// With `wantsNotes`, it leaves a note in the commands whenever the verdict
  /// on guesses changes.
  GuessLauncher(const HeadLimits &limits, const SpeculationOptions &options,
                const SpeculationPolicy &policy, RequestTable &requests,
                FramesUnderWay &frames, SlotOccupancy &slots,
                HeadCommands &commands, bool wantsNotes);

  /// Launches all guesses that the policy lets through as one frame, likeliest
  /// first.
  void launch(Time now);

private:
  /// A guess that waits, and its request; null if there is none.
  struct Waiting {
    HeadRequest *owner = nullptr;
    GuessNode *guess = nullptr;
  };

  bool mayGuess(const HeadRequest &request) const;
  Waiting findBest(bool tooDeep);
  Verdict judge(const Waiting &waiting) const;
  void add(const Waiting &waiting, StepFrame &frame, uint64_t slot, Time now);
  void finish(StepFrame &frame);
  void note(const Waiting &waiting, Verdict verdict);

  const HeadLimits &limits;
  const SpeculationOptions &options;
  const SpeculationPolicy &policy;
  RequestTable &requests;
  FramesUnderWay &frames;
  SlotOccupancy &slots;
  HeadCommands &commands;
  bool wantsNotes;
  std::optional<Verdict> lastVerdict;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_GUESSLAUNCHER_H
