//===- BatchLauncher.h - launches trees of guesses as a whole -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_HEAD_BATCHLAUNCHER_H
#define SLUICE_RUNTIME_CORE_HEAD_BATCHLAUNCHER_H

#include "runtime/core/head/DraftClient.h"
#include "runtime/core/head/FramesUnderWay.h"
#include "runtime/core/head/SlotOccupancy.h"

namespace sluice {

/// Launches each request's certain row together with all its guesses, once
/// these are complete and nothing of the last batch is outstanding (Sync mode).
/// Thread-compatible.
class BatchLauncher {
public:
  BatchLauncher(const SpeculationOptions &options, const DraftClient &draft,
                RequestTable &requests, FramesUnderWay &frames,
                SlotOccupancy &slots)
      : options(options), draft(draft), requests(requests), frames(frames),
        slots(slots) {}

  void launch(Time now);

private:
  void launchTree(HeadRequest &request, Time now);

  const SpeculationOptions &options;
  const DraftClient &draft;
  RequestTable &requests;
  FramesUnderWay &frames;
  SlotOccupancy &slots;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_HEAD_BATCHLAUNCHER_H
