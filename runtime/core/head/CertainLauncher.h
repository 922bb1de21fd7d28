//===- CertainLauncher.h - launches the rows of confirmed tokens ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_CERTAINLAUNCHER_H
#define SLUICE_RUNTIME_CORE_HEAD_CERTAINLAUNCHER_H

#include "runtime/core/head/FramesUnderWay.h"
#include "runtime/core/head/SlotOccupancy.h"

namespace sluice {

/// Launches the rows of tokens that have just become known: the roots of the
/// requests' trees. Thread-compatible.
class CertainLauncher {
public:
  CertainLauncher(const HeadLimits &limits, const SpeculationPolicy &policy,
                  RequestTable &requests, FramesUnderWay &frames,
                  SlotOccupancy &slots, HeadCommands &commands);

  /// Queues the request's root to be launched.
  void add(HeadRequest &request);
  /// Takes the request out of the queue, if it is there.
  void remove(HeadRequest &request);

  /// Launches queued roots as one frame, so that even a fast first stage makes
  /// one step of them. Returns the frame, which has no slot yet and takes rows
  /// of prompts; or null. With several stages the requests are divided into as
  /// many groups that take turns: a step of all requests would keep all stages
  /// but one idle.
  StepFrame *launch(Time now);
  /// Sets the wake-up for the roots that are left. `startsSlot` says whether
  /// the frame of this event, if any, found the slowest stage idle.
  void wakeForRest(bool startsSlot);

  /// Returns whether rows have to wait until other rows are back: as many
  /// groups are under way as there are stages. One more group would be a step
  /// of its own, and from then on all groups would take turns. With one stage
  /// this holds for prompts too: what is in its mailbox at the end of a step
  /// does not wait for the requests of that step.
  bool waitsForOthers() const;

private:
  const HeadLimits &limits;
  const SpeculationPolicy &policy;
  RequestTable &requests;
  FramesUnderWay &frames;
  SlotOccupancy &slots;
  HeadCommands &commands;
  std::vector<RequestId> due; ///< requests whose roots are to leave
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_CERTAINLAUNCHER_H
