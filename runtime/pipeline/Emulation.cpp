//===- Emulation.cpp - the times of a described cluster -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/Emulation.h"

using namespace sluice;
using namespace sluice::pipeline;

Expected<Emulation> Emulation::create(const EmulationOptions &options) {
  Expected<cluster::ClusterFile> file =
      cluster::readClusterFile(options.clusterFile);
  if (!file)
    return file.status();
  Emulation made(options);
  if (made.options.target.empty())
    made.options.target = file->target;
  if (made.options.draft.empty())
    made.options.draft = file->draft;
  if (Status s = made.place(*file); !s.ok())
    return s.withContext(options.clusterFile);
  return made;
}

Status Emulation::place(const cluster::ClusterFile &file) {
  Expected<cluster::ModelShape> shape = file.findModel(options.target);
  if (!shape)
    return shape.status();
  cluster::ModelCost model = shape->cost();
  std::optional<cluster::ModelCost> draft;
  if (options.hasDraft) {
    Expected<cluster::ModelShape> draftShape = file.findModel(options.draft);
    if (!draftShape)
      return draftShape.status();
    draft = draftShape->cost();
  }
  cluster::PipelinePlanOptions wanted;
  wanted.stages = options.stages;
  wanted.ownDraftRank = options.ownDraftRank;
  wanted.context = wanted.cachePositions = wanted.draftCachePositions =
      options.context;
  wanted.activationBytes = activationBytes(options.activations);
  Expected<cluster::PipelinePlan> placed = cluster::planPipeline(
      model, draft ? &*draft : nullptr, file.cluster, wanted);
  if (!placed)
    return placed.status();
  hidden = model.hidden;
  plan = placed.take();
  return {};
}

std::unique_ptr<StepPacer> Emulation::stagePacer(int64_t stage) const {
  return std::make_unique<StepPacer>(plan.stageCosts[size_t(stage)],
                                     options.context, options.maxLatency);
}

std::unique_ptr<StepPacer> Emulation::draftPacer() const {
  if (!plan.draftCost)
    return nullptr;
  return std::make_unique<StepPacer>(*plan.draftCost, options.context,
                                     options.maxLatency);
}

PipelineTimes Emulation::times() const {
  PipelineTimes times;
  const cluster::StageCost *slowest = &plan.stageCosts.front();
  cluster::StepShape one{1, 1, options.context};
  for (const cluster::StageCost &stage : plan.stageCosts)
    if (stage.time(one) > slowest->time(one))
      slowest = &stage;
  times.slowest = StepTimes(slowest->table(options.context));
  times.roundTrip = cluster::toTime(plan.partition.tripSeconds);
  times.cancelLatency =
      options.maxLatency.count() > 0 ? options.maxLatency : slowest->time(one);
  if (plan.draftCost)
    times.draft = StepTimes(plan.draftCost->table(options.context));
  return times;
}

int64_t Emulation::stepRows() const {
  return plan.stepRows(options.maxLatency, options.prefillRows,
                       options.context);
}
