//===- RankSetup.h - what a rank is made from -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The job that a rank is part of, how all its ranks run, and the roles of one.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANKSETUP_H
#define SLUICE_RUNTIME_PIPELINE_RANKSETUP_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/nccl/NcclCommunicator.h"
#include "runtime/core/PipelineLimits.h"
#include "runtime/core/Scheduler.h"
#include "runtime/device/cuda/DeviceGroup.h"
#include "runtime/pipeline/StageWorker.h"

#include <algorithm>

namespace sluice::pipeline {

/// What all ranks of a job have in common. The head, and the draft if there is
/// one, are on rank 0.
struct PipelineShape {
  uint64_t identity = 0;           ///< of the plan; frames carry it
  std::vector<int64_t> stageRanks; ///< by stage; of a group the first member's
  int64_t ranks = 1;
  bool hasDraft = false;
  int64_t draftContextLength = 0; ///< positions the draft takes; 0: all
  int64_t vocabSize = 0;          ///< ids of tokens are less
  int64_t draftVocabSize = 0;     ///< to the draft; 0: as vocabSize
  int64_t hiddenSize = 0;
  int64_t contextLength = 0;

  /// Ids that target and draft both have, which are those below: only they can
  /// be guessed, and come true.
  int64_t sharedVocabSize() const {
    return draftVocabSize > 0 ? std::min(vocabSize, draftVocabSize) : vocabSize;
  }
};

/// How they run; the same on all ranks.
struct PipelineSettings {
  SpeculationOptions speculation;
  ActivationFormat activations = ActivationFormat::F32;
  int64_t requests = 1;
  int64_t prefillRows = 512;
  int64_t pages = 0;           ///< as PipelineLimits
  bool sharesPrefixes = false; ///< as PipelineLimits
  Time interTokenLatency{0};   ///< as HeadLimits
  SchedulerLimits scheduler;
  /// The communicator's capacity.
  int64_t channelFrames = defaultChannelFrames;
  bool fuse = true;
  bool trace = false;

  PipelineLimits limits(const PipelineShape &shape) const;
};

/// A stage, or the draft, on this rank.
struct StageSetup {
  std::unique_ptr<StepCompute> compute;
  std::unique_ptr<StepPacer> pacer; ///< null: no emulation
};

struct RankSetup {
  PipelineShape shape;
  PipelineSettings settings;
  int64_t stage = -1; ///< the number of this rank's stage, or none
  /// Where several ranks compute the stage: this one's end, which outlives the
  /// rank; on CPUs the stage's program meets the other members by it as well.
  comm::Collectives *group = nullptr;
  /// Where its program meets them on GPUs, by this, which is told when the job
  /// fails; it outlives the rank. Null: not on GPUs.
  cuda::DeviceGroup *deviceGroup = nullptr;
  /// Not null: rows travel from device to device, as floats, at all ranks; it
  /// is the rank's communicator.
  comm::NcclCommunicator *deviceRows = nullptr;
  /// Where tokens are chosen: for requests with a grammar.
  MakeTokenTrie makeTokenTrie;
  StageSetup stageSetup;
  /// Emulation: how many bytes the activations of so many rows count as on a
  /// link. Null: as many as they are.
  std::function<int64_t(int64_t rows)> activationBytes;
  /// Rank 0 only.
  bool isHead = false;
  PipelineTimes times;
  StageSetup draftSetup;
  std::unique_ptr<Guesser> guesser; ///< null: no draft
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANKSETUP_H
