//===- RankSetup.h - the setup of a rank ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes the job that a rank is part of, how all its ranks run, and the
// rank's roles.
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

/// The rank of the head.
constexpr int64_t headRank = 0;

/// What all ranks of a job have in common. Rank 0 has the head, and the draft
/// if there is one.
struct PipelineShape {
  uint64_t identity = 0; ///< of the plan; frames carry it
  /// By stage; for a group, its first member's rank.
  std::vector<int64_t> stageRanks;
  int64_t ranks = 1;
  bool hasDraft = false;
  /// Positions the draft has room for; 0: no limit.
  int64_t draftContextLength = 0;
  int64_t vocabSize = 0;      ///< token ids are below it
  int64_t draftVocabSize = 0; ///< the draft's; 0: as vocabSize
  int64_t hiddenSize = 0;
  int64_t contextLength = 0;

  /// Returns how many ids both target and draft have. Only these ids can be
  /// guessed.
  int64_t sharedVocabSize() const {
    return draftVocabSize > 0 ? std::min(vocabSize, draftVocabSize) : vocabSize;
  }
};

/// How the ranks run; the same on all ranks.
struct PipelineSettings {
  SpeculationOptions speculation;
  ActivationFormat activations = ActivationFormat::F32;
  int64_t requests = 1;
  int64_t prefillRows = defaultStepRows;
  int64_t pages = 0;           ///< as in PipelineLimits
  bool sharesPrefixes = false; ///< as in PipelineLimits
  Time interTokenLatency{0};   ///< as in HeadLimits
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
  std::unique_ptr<StepPacer> pacer; ///< null without emulation
};

struct RankSetup {
  PipelineShape shape;
  PipelineSettings settings;
  int64_t stage = -1; ///< the number of this rank's stage; -1 for none
  /// This member's end of the group, if several ranks compute the stage. On
  /// CPUs the stage's program uses it for its collectives as well. Must outlive
  /// the rank.
  comm::Collectives *group = nullptr;
  /// The exchanges of the stage's program on GPUs; the rank ends them when the
  /// job fails. Must outlive the rank. Null if the group is not on GPUs.
  cuda::DeviceGroup *deviceGroup = nullptr;
  /// The rank's NCCL communicator, if rows travel from device to device, as
  /// floats, at all ranks; else null.
  comm::NcclCommunicator *deviceRows = nullptr;
  /// For requests with a grammar, on ranks that choose tokens.
  MakeTokenTrie makeTokenTrie;
  StageSetup stageSetup;
  /// With emulation: returns as how many bytes the activations of `rows` rows
  /// count on a link. Null: their real size counts.
  std::function<int64_t(int64_t rows)> activationBytes;
  /// The following is for rank 0 only.
  bool isHead = false;
  PipelineTimes times;
  StageSetup draftSetup;
  std::unique_ptr<Guesser> guesser; ///< null without a draft

  /// Returns whether this rank's stage is the last one.
  bool isLastStage() const {
    return stage + 1 == int64_t(shape.stageRanks.size());
  }
  /// Returns the size of a row on a device, in bytes.
  int64_t deviceRowBytes() const {
    return shape.hiddenSize * int64_t(sizeof(float));
  }
  /// Returns the size of a row that arrives in this stage's device, in bytes; 0
  /// if rows arrive in frames.
  int64_t payloadRowBytes() const {
    return deviceRows && stage > 0 ? deviceRowBytes() : 0;
  }
  /// Returns the limits of frames that may arrive at this rank.
  comm::FrameLimits frameLimits() const;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANKSETUP_H
