//===- Explain.cpp - the table of a pipeline's stages ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Analysis/Explain.h"

#include "runtime/cluster/PipelinePlan.h"
#include "runtime/cluster/Units.h"
#include "sluice/Analysis/ClusterSpec.h"
#include "sluice/Analysis/StepCost.h"
#include "sluice/Support/TextTable.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <vector>

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;
using namespace sluice::cluster;

namespace {

/// The subject of one line of the table.
struct Line {
  std::string name;
  Operation *part = nullptr; ///< a sluice.stage, or the draft's sluice.model
  PlaceAttr place;
  std::optional<ArrayRef<int64_t>> costs;
  std::optional<int64_t> stepRows;
  int64_t contextLength = 0;
};

/// Returns the seconds of a step of `rows` rows, which must be one of the row
/// counts of a cost table.
double secondsOf(ArrayRef<int64_t> costs, int32_t rows) {
  size_t index = size_t(llvm::find(StepTimes::rowCounts, rows) -
                        StepTimes::rowCounts.begin());
  return double(costs[index]) * 1e-9;
}

std::string layersOf(Operation *part) {
  auto layers = part->getRegion(0).getOps<LayerOp>();
  if (layers.empty())
    return "none";
  int64_t first = int64_t((*layers.begin()).getIndex()), last = first;
  for (LayerOp layer : layers)
    last = int64_t(layer.getIndex());
  return first == last ? std::to_string(first)
                       : std::to_string(first) + "-" + std::to_string(last);
}

/// Returns the device's memory, or "-" if the cluster does not describe it.
std::string memoryOf(const DeviceSpec &device) {
  return device.memoryBytes == defaultDevice().memoryBytes
             ? "-"
             : formatBytes(double(device.memoryBytes));
}

int64_t checkpointsOf(Operation *part) {
  return int64_t(stretchesOf(part).size()) - 1;
}

/// Returns a line for each stage, in order, and one for the draft.
Expected<std::vector<Line>> rowsOf(ModuleOp module, PipelineOp pipeline) {
  SymbolTable symbols(module);
  std::vector<Line> rows;
  for (auto name : pipeline.getStages().getAsRange<FlatSymbolRefAttr>()) {
    auto stage = symbols.lookup<StageOp>(name.getValue());
    if (!stage)
      return failure("'", name.getValue().str(), "' is no sluice.stage");
    rows.push_back({stage.getSymName().str(), stage, stage.getFirstPlace(),
                    stage.getCosts(), stage.getStepRows(),
                    int64_t(pipeline.getContextLength())});
  }
  for (auto generate : module.getOps<GenerateOp>())
    if (SpeculateOp speculate = generate.getSpeculate()) {
      auto draft = symbols.lookup<ModelOp>(speculate.getDraft());
      bool own = speculate.getPlacement() == Placement::Own;
      PlaceAttr place = generate.getPlaceAttr();
      if (draft)
        rows.push_back({draft.getSymName().str(), draft,
                        own && place ? place : rows.front().place,
                        speculate.getCosts(), speculate.getStepRows(),
                        int64_t(draft.getContextLength())});
    }
  return rows;
}

/// Returns the name of the place, or the names of the places of a group's
/// members. The places must be in the cluster.
std::string namePlaces(const Cluster &cluster, const Line &row) {
  SmallVector<PlaceAttr> places = {row.place};
  if (auto stage = dyn_cast<StageOp>(row.part))
    places = llvm::to_vector(stage.getPlaces().getAsRange<PlaceAttr>());
  std::string names;
  for (PlaceAttr place : places)
    names += (names.empty() ? "" : ", ") +
             cluster.placeName(*fromPlaceAttr(cluster, place));
  return names;
}

/// Returns the bytes of the weights and caches of all stages and drafts at a
/// place.
int64_t memoryAt(PlaceAttr place, ArrayRef<Line> rows) {
  int64_t sum = 0;
  for (const Line &row : rows)
    if (row.place == place) {
      ModelCost cost = costOfPart(row.part);
      sum += stageMemoryBytes(cost, wholeModel(cost), row.contextLength);
    }
  return sum;
}

/// Returns the seconds of the longest stretch in a step of as many rows as the
/// stage allows, or of one row if that number is not known.
double longestStretch(const Line &row, int64_t context,
                      const DeviceSpec &device) {
  return *llvm::max_element(
      stretchSeconds(row.part, row.stepRows.value_or(1), context, device));
}

/// Describes the trip of a single row through the pipeline.
std::string explainTrip(const Cluster &cluster, Place head,
                        const std::vector<Place> &stages, int64_t rowBytes,
                        double slowest, double steps) {
  std::string text = "slowest stage " + formatSeconds(slowest) + ", ";
  std::optional<double> links = linksSeconds(cluster, head, stages, rowBytes);
  if (!links)
    return text + "all stages one after the other " + formatSeconds(steps) +
           "; some have no way to the next\n";
  return text + "a row's trip " + formatSeconds(steps + *links) +
         ", of which on links " + formatSeconds(*links) + "\n";
}

} // namespace

Expected<std::string> sluice::explainStages(ModuleOp module) {
  auto pipelines = module.getOps<PipelineOp>();
  if (!llvm::hasSingleElement(pipelines))
    return failure("the module has no single sluice.pipeline");
  Expected<Cluster> cluster = getCluster(module);
  if (!cluster)
    return cluster.status();
  Expected<std::vector<Line>> rows = rowsOf(module, *pipelines.begin());
  if (!rows)
    return rows.status();

  TextTable table({"stage", "place", "layers", "weights", "1 row", "8 rows",
                   "memory", "device", "checkpoints", "longest stretch",
                   "step rows"},
                  /*left=*/{0, 1, 2});
  double slowest = 0, sum = 0;
  std::vector<Place> stages;
  std::optional<Place> head;
  int64_t rowBytes = 0;
  for (const Line &row : *rows) {
    Expected<Place> place = fromPlaceAttr(*cluster, row.place);
    if (!place)
      return place.status();
    auto stage = dyn_cast<StageOp>(row.part);
    Expected<DeviceSpec> found =
        stage ? deviceOf(*cluster, stage) : cluster->device(*place);
    if (!found)
      return found.status();
    const DeviceSpec &device = *found;
    StageCost cost = stageCostOf(row.part, device);
    int64_t context = std::min(row.contextLength, predictedContext);
    SmallVector<int64_t> costs =
        row.costs ? llvm::to_vector(*row.costs) : predictedCosts(cost, context);
    if (stage) {
      slowest = std::max(slowest, secondsOf(costs, 1));
      sum += secondsOf(costs, 1);
      stages.push_back(*place);
      if (Value input = stage.getInput())
        rowBytes = getWidth(input.getType()) * int64_t(sizeof(float));
    } else {
      head = *place;
    }
    table.add({row.name, namePlaces(*cluster, row), layersOf(row.part),
               formatBytes(double(cost.memoryBytes())),
               formatSeconds(secondsOf(costs, 1)),
               formatSeconds(secondsOf(costs, 8)),
               formatBytes(double(memoryAt(row.place, *rows))),
               memoryOf(device), std::to_string(checkpointsOf(row.part)),
               formatSeconds(longestStretch(row, context, device)),
               row.stepRows ? std::to_string(*row.stepRows) : "-"});
  }
  return table.print() + explainTrip(*cluster, head.value_or(stages.front()),
                                     stages, rowBytes, slowest, sum);
}
