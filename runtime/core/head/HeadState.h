//===- HeadState.h - the parts of the head --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_HEADSTATE_H
#define SLUICE_RUNTIME_CORE_HEAD_HEADSTATE_H

#include "runtime/core/Head.h"
#include "runtime/core/head/BatchLauncher.h"
#include "runtime/core/head/CertainLauncher.h"
#include "runtime/core/head/DraftClient.h"
#include "runtime/core/head/GuessLauncher.h"
#include "runtime/core/head/LostFrameProbe.h"
#include "runtime/core/head/PromptLauncher.h"
#include "runtime/core/head/RequestPages.h"

namespace sluice {

/// Verifies, ends and preempts requests, and has the other parts of the head
/// launch rows. Each event changes requests and queues what is due; pump() then
/// turns what is due into commands, in the same order for all events.
struct Head::State {
  State(const HeadLimits &limits, const SpeculationOptions &options,
        PipelineTimes times, bool wantsNotes);

  /// Admits the request into a free slot. Returns null, and changes nothing, if
  /// there are not enough pages beside `claimedPages`.
  HeadRequest *admit(RequestSpec &spec, int64_t claimedPages);
  void finish(HeadRequest &request, FinishReason reason,
              std::string error = {});
  void preempt(HeadRequest &request);
  void takeResults(const ResultFrame &frame, Time now);
  void pump(Time now);

  const HeadLimits limits;
  const SpeculationOptions options;
  SpeculationPolicy policy;
  HeadCommands commands;
  RequestTable requests;
  RequestPages pages;
  FramesUnderWay frames;
  SlotOccupancy slots;
  CertainLauncher certain;
  PromptLauncher prompts;
  DraftClient draft;
  GuessLauncher guesses;
  BatchLauncher batches;
  LostFrameProbe probe;
  bool rowsDied = false; ///< whether rows died in flight since sendCancels()

private:
  void release(HeadRequest &request);
  void noteDeaths(HeadRequest &request, int64_t died);
  void prefetch(std::span<const ResultRow> results) const;
  void takeResult(const ResultRow &result, bool isLate, Time now);
  void score(HeadRequest &request, const ResultRow &result);
  void verify(HeadRequest &request, const ResultRow &result, Time now);
  void learn(const HeadRequest &request, int32_t token);
  void confirm(HeadRequest &request, int32_t token);
  bool makeRoomFor(HeadRequest &request);
  void sendCancels(Time now);
  void launchCertain(Time now);
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_HEADSTATE_H
