//===- SimulationPlan.cpp - runs of described machines --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/SimulationPlan.h"

#include "runtime/cluster/PipelinePlan.h"

#include <algorithm>
#include <optional>

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

  Status placeModels();
  Status findLinks();
  SimulationPlan take() { return std::move(plan); }

private:
  void describeStages(const cluster::ModelCost &model);

  const cluster::ClusterFile &file;
  PlanOptions options;
  SimulationPlan plan;
  std::vector<cluster::Place> rankPlaces;
};

} // namespace

Status Planner::placeModels() {
  Expected<cluster::ModelShape> shape = file.findModel(options.target);
  if (!shape)
    return shape.status();
  cluster::ModelCost model = shape->cost();
  std::optional<cluster::ModelCost> draft;
  if (options.placement != SimPlacement::None) {
    Expected<cluster::ModelShape> draftShape = file.findModel(options.draft);
    if (!draftShape)
      return draftShape.status();
    draft = draftShape->cost();
    plan.draft = draft->name;
  }
  cluster::PipelinePlanOptions wanted;
  wanted.stages = options.stages;
  wanted.ownDraftRank = options.placement == SimPlacement::Own;
  wanted.context = wanted.cachePositions = wanted.draftCachePositions =
      options.context;
  wanted.activationBytes = options.activationBytes;
  Expected<cluster::PipelinePlan> placed = cluster::planPipeline(
      model, draft ? &*draft : nullptr, file.cluster, wanted);
  if (!placed)
    return placed.status();
  plan.cluster = file.cluster.name();
  plan.target = model.name;
  plan.config.placement = options.placement;
  plan.config.rowBytes = model.hidden * options.activationBytes;
  plan.config.vocabulary = static_cast<int32_t>(model.vocab);
  rankPlaces = placed->ranks();
  if (draft)
    plan.config.draftModel =
        modelOf(cluster::StageCost(*draft, cluster::wholeModel(*draft),
                                   file.cluster.device(placed->head())),
                options);
  plan.partition = std::move(placed->partition);
  describeStages(model);
  return {};
}

/// The stages' times, and the prompt rows of a step.
void Planner::describeStages(const cluster::ModelCost &model) {
  int64_t rows = options.prefillRows;
  for (const cluster::StagePlan &stage : plan.partition.stages) {
    cluster::StageCost cost(model, stage.range,
                            file.cluster.device(stage.place));
    plan.config.stages.push_back(modelOf(cost, options));
    rows = std::min(rows, cost.checkpoints(options.maxLatency,
                                           options.prefillRows, options.context)
                              .stepRows);
  }
  plan.config.head.prefillRows = rows;
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
  if (options.context < 1 || options.prefillRows < 1 ||
      options.prefillRows > cluster::maxStepRows)
    return failure("a context of ", options.context, " and prompt chunks of ",
                   options.prefillRows);
  Planner planner(file, options);
  if (Status s = planner.placeModels(); !s.ok())
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
