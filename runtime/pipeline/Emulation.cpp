//===- Emulation.cpp - times of a described cluster -----------------------===//
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
  Emulation made(options, file.take());
  if (made.options.target.empty())
    made.options.target = made.file.target;
  if (made.options.draft.empty())
    made.options.draft = made.file.draft;
  if (Status s = made.placeModels(); !s.ok())
    return s.withContext(options.clusterFile);
  if (Status s = made.findLinks(); !s.ok())
    return s.withContext(options.clusterFile);
  return made;
}

Status Emulation::placeModels() {
  Expected<cluster::ModelShape> shape = file.findModel(options.target);
  if (!shape)
    return shape.status();
  model = shape->cost();
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
  Expected<cluster::PipelinePlan> plan = cluster::planPipeline(
      model, draft ? &*draft : nullptr, file.cluster, wanted);
  if (!plan)
    return plan.status();
  for (const cluster::StagePlan &stage : plan->partition.stages)
    stageCosts.emplace_back(model, stage.range,
                            file.cluster.device(stage.place));
  if (draft)
    draftCost = std::make_unique<cluster::StageCost>(
        *draft, cluster::wholeModel(*draft), file.cluster.device(plan->head()));
  rankPlaces = plan->ranks();
  return {};
}

Status Emulation::findLinks() {
  for (cluster::Place from : rankPlaces)
    for (cluster::Place to : rankPlaces) {
      std::optional<cluster::Link> link = file.cluster.link(from, to);
      if (!link)
        return failure("no path from ", file.cluster.placeName(from), " to ",
                       file.cluster.placeName(to));
      links.push_back(*link);
    }
  return {};
}

std::unique_ptr<StepPacer> Emulation::stagePacer(int64_t stage) const {
  return std::make_unique<StepPacer>(stageCosts[size_t(stage)], options.context,
                                     options.maxLatency);
}

std::unique_ptr<StepPacer> Emulation::draftPacer() const {
  if (!draftCost)
    return nullptr;
  return std::make_unique<StepPacer>(*draftCost, options.context,
                                     options.maxLatency);
}

PipelineTimes Emulation::times() const {
  PipelineTimes times;
  const cluster::StageCost *slowest = &stageCosts.front();
  Time trip{0};
  cluster::StepShape one{1, 1, options.context};
  for (const cluster::StageCost &stage : stageCosts) {
    trip += stage.time(one);
    if (stage.time(one) > slowest->time(one))
      slowest = &stage;
  }
  // From the head through all stages and back.
  int64_t first = options.hasDraft && options.ownDraftRank ? 1 : 0;
  int64_t bytes = activationBytesOf(1);
  int64_t at = 0;
  for (int64_t stage = 0; stage < options.stages; ++stage) {
    trip += cluster::toTime(
        cluster::linkSeconds(link(at, first + stage), stage > 0 ? bytes : 0));
    at = first + stage;
  }
  trip += cluster::toTime(cluster::linkSeconds(link(at, 0), 0));
  times.roundTrip = trip;
  times.slowest = StepTimes(slowest->table(options.context));
  times.cancelLatency =
      options.maxLatency.count() > 0 ? options.maxLatency : slowest->time(one);
  if (draftCost)
    times.draft = StepTimes(draftCost->table(options.context));
  return times;
}

int64_t Emulation::stepRows() const {
  int64_t rows = options.prefillRows;
  for (const cluster::StageCost &stage : stageCosts)
    if (options.maxLatency.count() > 0)
      rows =
          std::min(rows, stage
                             .checkpoints(options.maxLatency,
                                          options.prefillRows, options.context)
                             .stepRows);
  return rows;
}
