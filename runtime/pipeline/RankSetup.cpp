//===- RankSetup.cpp - the setup of a rank --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/RankSetup.h"

using namespace sluice;
using namespace sluice::pipeline;

PipelineLimits PipelineSettings::limits(const PipelineShape &shape) const {
  PipelineLimits limits;
  limits.speculation = speculation;
  limits.requests = requests;
  limits.contextLength = shape.contextLength;
  limits.vocabSize = shape.vocabSize;
  limits.prefillRows = prefillRows;
  limits.stages = int64_t(shape.stageRanks.size());
  limits.pages = pages;
  limits.sharesPrefixes = sharesPrefixes;
  limits.interTokenLatency = interTokenLatency;
  limits.channelFrames = channelFrames;
  limits.fuse = fuse;
  return limits;
}

comm::FrameLimits RankSetup::frameLimits() const {
  StageLimits ofStage = settings.limits(shape).stage();
  comm::FrameLimits limits;
  limits.rows = ofStage.rows;
  limits.requests = settings.requests;
  limits.contextLength = shape.contextLength;
  limits.sharedPages = ofStage.sharedPages;
  limits.vocabSize = shape.vocabSize;
  limits.width = stage > 0 && !deviceRows ? shape.hiddenSize : 0;
  limits.format = settings.activations;
  limits.stages = int64_t(shape.stageRanks.size());
  limits.reportEntries = shape.vocabSize + 1;
  return limits;
}
