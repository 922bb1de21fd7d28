//===- SimulationPlan.cpp - runs of described machines --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/SimulationPlan.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::sim;

/// The rows of a step that are tabulated; a line goes on from there.
static constexpr int64_t tableRows = 1024;

static StepModel modelOf(const cluster::StageCost &cost,
                         const PlanOptions &options) {
  StepModel model;
  model.maxStretch = options.maxLatency;
  int64_t context = options.context;
  for (int64_t rows = 1; rows <= tableRows; ++rows) {
    Time without = cost.time({rows, 0, context});
    model.byRows.push_back(without);
    model.byOutputs.push_back(cost.time({rows, rows, context}) - without);
  }
  return model;
}

namespace {

class Planner {
public:
  Planner(const cluster::ClusterFile &file, const PlanOptions &options)
      : file(file), options(options) {
    if (this->options.target.empty())
      this->options.target = file.target;
    if (this->options.draft.empty())
      this->options.draft = file.draft;
  }

  Status placeStages();
  Status placeDraft();
  Status findLinks();
  SimulationPlan take() { return std::move(plan); }

private:
  const cluster::ClusterFile &file;
  PlanOptions options;
  SimulationPlan plan;
  std::vector<cluster::Place> rankPlaces;
};

} // namespace

Status Planner::placeStages() {
  Expected<cluster::ModelShape> shape = file.findModel(options.target);
  if (!shape)
    return shape.status();
  cluster::ModelCost model = shape->cost();
  cluster::PartitionOptions wanted;
  if (options.stages > 0)
    wanted.minStages = wanted.maxStages = options.stages;
  wanted.context = wanted.cachePositions = options.context;
  wanted.activationBytes = options.activationBytes;
  Expected<cluster::Partition> cut =
      cluster::partition(model, file.cluster, wanted);
  if (!cut)
    return cut.status();
  plan.partition = cut.take();
  plan.cluster = file.cluster.name();
  plan.target = model.name;
  plan.config.rowBytes = model.hidden * options.activationBytes;
  plan.config.vocabulary = static_cast<int32_t>(model.vocab);
  int64_t rows = options.prefillRows;
  for (const cluster::StagePlan &stage : plan.partition.stages) {
    cluster::StageCost cost(model, stage.range,
                            file.cluster.device(stage.place));
    plan.config.stages.push_back(modelOf(cost, options));
    rows = std::min(rows, cost.checkpoints(options.maxLatency,
                                           options.prefillRows, options.context)
                              .stepRows);
    rankPlaces.push_back(stage.place);
  }
  plan.config.head.prefillRows = rows;
  return {};
}

Status Planner::placeDraft() {
  plan.config.placement = options.placement;
  if (options.placement == SimPlacement::None)
    return {};
  cluster::Place place = rankPlaces.front();
  if (options.placement == SimPlacement::Own) {
    std::optional<cluster::Place> own = file.cluster.draftPlace();
    if (!own)
      return failure("no node is marked 'draft: true', and the draft is to "
                     "have a rank of its own");
    place = *own;
    rankPlaces.insert(rankPlaces.begin(), place);
  }
  Expected<cluster::ModelShape> shape = file.findModel(options.draft);
  if (!shape)
    return shape.status();
  cluster::ModelCost draft = shape->cost();
  plan.draft = draft.name;
  cluster::StageCost cost(draft, cluster::wholeModel(draft),
                          file.cluster.device(place));
  plan.config.draftModel = modelOf(cost, options);
  return {};
}

Status Planner::findLinks() {
  for (cluster::Place from : rankPlaces) {
    plan.places.push_back(file.cluster.placeName(from));
    for (cluster::Place to : rankPlaces) {
      std::optional<cluster::Link> link = file.cluster.link(from, to);
      if (!link)
        return failure("no path from ", file.cluster.placeName(from), " to ",
                       file.cluster.placeName(to));
      plan.config.links.push_back(
          {cluster::toTime(link->latencySeconds), link->bytesPerSecond});
    }
  }
  return {};
}

Expected<SimulationPlan> sim::planSimulation(const cluster::ClusterFile &file,
                                             const PlanOptions &options) {
  if (options.context < 1 || options.prefillRows < 1)
    return failure("a context of ", options.context, " and prompt chunks of ",
                   options.prefillRows);
  Planner planner(file, options);
  if (Status s = planner.placeStages(); !s.ok())
    return s;
  if (Status s = planner.placeDraft(); !s.ok())
    return s;
  if (Status s = planner.findLinks(); !s.ok())
    return s;
  SimulationPlan plan = planner.take();
  plan.config.head.contextLength = options.context;
  return plan;
}

double SimulationPlan::planned(double acceptance) const {
  double hits = acceptance / (1 - acceptance);
  double slot = 0;
  for (const StepModel &stage : config.stages)
    slot = std::max(slot, static_cast<double>(stage.step(1).count()));
  auto trip = static_cast<double>(predictedTimes(config).roundTrip.count());
  return (hits + 1) * 1e9 / (trip + hits * slot);
}
