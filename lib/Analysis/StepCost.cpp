//===- StepCost.cpp - predicted costs of ops and stages -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Analysis/StepCost.h"

#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;
using namespace sluice::cluster;

OpCost sluice::costOf(CostInterface op) {
  return {.weightBytes = op.getWeightBytes(),
          .flopsPerRow = op.getFlopsPerRow(),
          .flopsPerRowAndPosition = op.getFlopsPerRowAndPosition(),
          .cacheBytesPerPosition = op.getCacheBytesPerPosition(),
          .bytesPerRow = op.getBytesPerRow(),
          .linkRounds = op.getLinkRounds(),
          .linkBytesPerRow = op.getLinkBytesPerRow()};
}

OpCost sluice::costOfColumns(LinearOp linear, int64_t columns) {
  OpCost cost = costOf(linear);
  int64_t all = linear.getEndColumn() - linear.getFirstColumn();
  cost.weightBytes = cost.weightBytes / all * columns;
  cost.flopsPerRow = cost.flopsPerRow / all * columns;
  cost.bytesPerRow -= (all - columns) * int64_t(sizeof(float));
  return cost;
}

OpCost sluice::costOfJoining(int64_t columns) {
  // Each column is read and written.
  return {.bytesPerRow = 2 * columns * int64_t(sizeof(float))};
}

//===----------------------------------------------------------------------===//
// Parts of a part
//===----------------------------------------------------------------------===//

namespace {

/// The bytes of each weight of a part.
using Weights = llvm::MapVector<StringRef, int64_t>;

} // namespace

static int64_t bytesOf(RankedTensorType type) {
  std::optional<uint64_t> bytes = getWeightBytes(type, getElementFormat(type));
  // The verifier of sluice.weight has checked that the bytes can be counted.
  return bytes ? int64_t(*bytes) : 0;
}

/// Adds the weights that an op reads.
static void addWeights(Operation *op, Weights &weights) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (auto param = operand.getDefiningOp<ParamOp>())
      weights[param.getWeight()] = bytesOf(type);
    // Each member holds one of the slices, all of the same size.
    else if (auto shard = operand.getDefiningOp<ShardOp>())
      weights[cast<FlatSymbolRefAttr>(shard.getSlices()[0]).getValue()] =
          bytesOf(type);
  }
}

static int64_t sumOf(const Weights &weights) {
  int64_t sum = 0;
  for (const auto &[name, bytes] : weights)
    sum += bytes;
  return sum;
}

static PartCost costOfLayer(LayerOp layer) {
  PartCost cost;
  Weights weights;
  for (Operation &op : layer.getBody().front()) {
    addWeights(&op, weights);
    if (auto costs = dyn_cast<CostInterface>(op);
        costs && !isa<CheckpointOp>(op))
      cost.ops.push_back(costOf(costs));
  }
  cost.memoryBytes = sumOf(weights);
  return cost;
}

ModelCost sluice::costOfPart(Operation *part) {
  ModelCost model;
  Weights before, behind;
  for (Operation &op : part->getRegion(0).front()) {
    if (auto layer = dyn_cast<LayerOp>(op)) {
      model.layers.push_back(costOfLayer(layer));
      model.hidden = getWidth(layer.getResult().getType());
      continue;
    }
    bool isFirst = model.layers.empty();
    addWeights(&op, isFirst ? before : behind);
    if (auto costs = dyn_cast<CostInterface>(op);
        costs && !isa<CheckpointOp>(op))
      (isFirst ? model.embedding : model.output).ops.push_back(costOf(costs));
  }
  model.embedding.memoryBytes = sumOf(before);
  model.output.memoryBytes = sumOf(behind);
  for (const auto &[name, bytes] : before)
    if (behind.contains(name))
      model.tiedBytes += bytes;
  return model;
}

StageCost sluice::stageCostOf(Operation *part, const DeviceSpec &device) {
  ModelCost model = costOfPart(part);
  return {model, wholeModel(model), device};
}

//===----------------------------------------------------------------------===//
// Stretches
//===----------------------------------------------------------------------===//

/// Calls `visit` for each executed op and each checkpoint.
static void walkExecuted(Operation *part,
                         llvm::function_ref<void(Operation *, bool)> visit) {
  bool behindLayers = false;
  for (Operation &op : part->getRegion(0).front()) {
    auto layer = dyn_cast<LayerOp>(op);
    if (!layer) {
      visit(&op, behindLayers);
      continue;
    }
    for (Operation &inner : layer.getBody().front())
      visit(&inner, /*behindLayers=*/false);
    behindLayers = true;
  }
}

SmallVector<SmallVector<ExecutedOp>> sluice::stretchesOf(Operation *part) {
  SmallVector<SmallVector<ExecutedOp>> stretches(1);
  walkExecuted(part, [&](Operation *op, bool behindLayers) {
    if (isa<CheckpointOp>(op))
      stretches.emplace_back();
    else if (auto costs = dyn_cast<CostInterface>(op))
      stretches.back().push_back({op, costOf(costs), behindLayers});
  });
  return stretches;
}

SmallVector<ExecutedOp> sluice::executedOps(Operation *part) {
  SmallVector<ExecutedOp> ops;
  for (const SmallVector<ExecutedOp> &stretch : stretchesOf(part))
    llvm::append_range(ops, stretch);
  return ops;
}

SmallVector<double> sluice::stretchSeconds(Operation *part, int64_t rows,
                                           int64_t context,
                                           const DeviceSpec &device) {
  SmallVector<double> seconds;
  for (const SmallVector<ExecutedOp> &stretch : stretchesOf(part)) {
    double sum = seconds.empty()
                     ? device.overheadSeconds + double(rows) * device.rowSeconds
                     : 0;
    for (const ExecutedOp &op : stretch)
      sum += op.seconds(rows, context, device);
    seconds.push_back(sum);
  }
  return seconds;
}

/// Returns the seconds of the longest stretch that an op needs when it is cut
/// into as many pieces as possible. `before` is the time that the stretch has
/// used before the op.
static double shortestStretch(const ExecutedOp &op, int64_t rows,
                              int64_t context, const DeviceSpec &device,
                              double before, double limit) {
  double whole = before + op.seconds(rows, context, device);
  auto linear = dyn_cast<LinearOp>(op.op);
  if (!linear || whole <= limit)
    return whole;
  int64_t columns = linear.getEndColumn() - linear.getFirstColumn();
  if (columns <= columnUnit)
    return whole;
  double piece = before + opSeconds(costOfColumns(linear, columnUnit), rows,
                                    context, device);
  return std::max(piece,
                  opSeconds(costOfJoining(columns), rows, context, device));
}

int64_t sluice::rowsOfStretches(Operation *part, int64_t max, int64_t context,
                                const DeviceSpec &device, double seconds) {
  SmallVector<ExecutedOp> ops = executedOps(part);
  auto shortest = [&](size_t i, int64_t rows) {
    double overhead = device.overheadSeconds + double(rows) * device.rowSeconds;
    return shortestStretch(ops[i], rows, context, device, i == 0 ? overhead : 0,
                           seconds);
  };
  auto keeps = [&](int64_t rows) {
    for (size_t i = 0; i < ops.size(); ++i)
      if (shortest(i, rows) > seconds && shortest(i, 1) <= seconds)
        return false;
    return true;
  };
  int64_t low = 1;
  int64_t high = stageCostOf(part, device).fullRows(max, context) + 1;
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    (keeps(middle) ? low : high) = middle;
  }
  return low;
}

SmallVector<int64_t> sluice::predictedCosts(const StageCost &cost,
                                            int64_t context) {
  SmallVector<int64_t> nanos;
  int64_t min = 1;
  for (Time time : cost.table(context))
    nanos.push_back(min = std::max(min, int64_t(time.count())));
  return nanos;
}
