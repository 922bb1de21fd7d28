//===- RankStage.h - makes the worker of a rank's stage -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANK_RANKSTAGE_H
#define SLUICE_RUNTIME_PIPELINE_RANK_RANKSTAGE_H

#include "runtime/pipeline/rank/RankSender.h"

namespace sluice::pipeline {

/// Returns the worker of this rank's stage, which computes setup.stageSetup and
/// sends what comes out through `sender`. `group` is null if this rank computes
/// the stage alone. All but `setup` must outlive the worker. Fails if limits do
/// not fit together, or the rows of the largest step do not fit a message.
Expected<std::unique_ptr<StageWorker>>
makeStageWorker(RankSetup &setup, int64_t rank, const comm::FrameCodec &codec,
                RankSender &sender, EpochBoard &board, StageGroup *group,
                RoleTrace trace, StageWorker::Events events);

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANK_RANKSTAGE_H
