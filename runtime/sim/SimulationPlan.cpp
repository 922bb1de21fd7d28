//===- SimulationPlan.cpp - simulations of described machines -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/SimulationPlan.h"

#include "runtime/cluster/PipelinePlan.h"

#include <optional>

using namespace sluice;
using namespace sluice::sim;

/// Steps of up to so many rows are tabulated; longer ones are extrapolated.
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
  SimulationPlan take() { return std::move(plan); }

private:
  void describe(cluster::PipelinePlan placed);

  const cluster::ClusterFile &file;
  PlanOptions options;
  SimulationPlan plan;
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
  wanted.acceptance = options.acceptance;
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
  describe(placed.take());
  return {};
}

/// Fills in the times of steps and links, and the prompt rows of a step.
void Planner::describe(cluster::PipelinePlan placed) {
  for (cluster::Place place : placed.ranks())
    plan.places.push_back(file.cluster.placeName(place));
  for (const cluster::Link &link : placed.links)
    plan.config.links.push_back(
        {cluster::toTime(link.latencySeconds), link.bytesPerSecond});
  for (const cluster::StageCost &stage : placed.stageCosts)
    plan.config.stages.push_back(modelOf(stage, options));
  if (placed.draftCost)
    plan.config.draftModel = modelOf(*placed.draftCost, options);
  plan.config.head.prefillRows =
      placed.stepRows(options.maxLatency, options.prefillRows, options.context);
  plan.partition = std::move(placed.partition);
}

Expected<SimulationPlan> sim::planSimulation(const cluster::ClusterFile &file,
                                             const PlanOptions &options) {
  if (options.context < 1 || options.prefillRows < 1 ||
      options.prefillRows > cluster::maxStepRows)
    return failure("a context of ", options.context, " and prompt chunks of ",
                   options.prefillRows);
  Planner planner(file, options);
  SLUICE_RETURN_IF_ERROR(planner.placeModels());
  SimulationPlan plan = planner.take();
  plan.config.head.contextLength = options.context;
  return plan;
}
