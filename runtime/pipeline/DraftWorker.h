//===- DraftWorker.h - makes the worker of a draft ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_DRAFTWORKER_H
#define SLUICE_RUNTIME_PIPELINE_DRAFTWORKER_H

#include "runtime/core/PipelineLimits.h"
#include "runtime/pipeline/HeadLoop.h"
#include "runtime/pipeline/StageWorker.h"

#include <functional>

namespace sluice::pipeline {

/// What a draft is made of, and made for.
struct DraftParts {
  PipelineLimits limits; ///< of the pipeline that the draft guesses for
  int64_t vocabSize = 0; ///< the ids that target and draft have
  /// Computes the draft, with room for limits.draft().
  std::unique_ptr<StepCompute> compute;
  std::unique_ptr<Guesser> guesser;
  std::unique_ptr<StepPacer> pacer = nullptr; ///< null without emulation
  int64_t rank = 0;
  bool hasCheckpoints = true; ///< as in StageWorkerConfig
};

/// Returns the worker of a draft. It sends its guesses to `head`. `board` and
/// `head` must outlive the worker. No stage may share `board`: the marks in the
/// draft's frames are newer than those that travel with the rows through the
/// stages, and must not cancel rows there. `failed` is called as in
/// StageWorker::Events. Fails if the limits do not fit together.
Expected<std::unique_ptr<StageWorker>>
makeDraftWorker(DraftParts parts, EpochBoard &board, HeadLoop &head,
                RoleTrace trace, std::function<void(Status)> failed);

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_DRAFTWORKER_H
