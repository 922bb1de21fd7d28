//===- RowFlow.cpp - checks of rows in a model or stage -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"
#include "runtime/core/Speculation.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Batches and rows
//===----------------------------------------------------------------------===//

namespace {

/// Visits the ops in the order in which they are executed.
class RowFlow {
public:
  explicit RowFlow(Operation *frame) : frame(frame) {
    for (Value argument : frame->getRegion(0).getArguments())
      define(argument);
  }

  LogicalResult run() {
    WalkResult result =
        frame->walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
          return op == frame ? success() : visit(op);
        });
    return failure(result.wasInterrupted());
  }

  bool isSelected(Value value) const { return selected.contains(value); }

private:
  LogicalResult visit(Operation *op);
  LogicalResult checkOperands(Operation *op);

  void define(Value value, bool isOfOutputs = false) {
    checkpointsBefore[value] = checkpoints;
    if (isOfOutputs)
      selected.insert(value);
  }

  bool isOfAllRows(Value value) const {
    return isStepRows(value.getType()) ||
           (isRows(value.getType()) && !isSelected(value));
  }

  Operation *frame;
  unsigned checkpoints = 0;
  DenseMap<Value, unsigned> checkpointsBefore;
  DenseSet<Value> selected;
};

} // namespace

LogicalResult RowFlow::checkOperands(Operation *op) {
  // checkpoint_c3
  for (Value operand : op->getOperands())
    if ((isStepRows(operand.getType()) || isRows(operand.getType())) &&
        checkpointsBefore.lookup(operand) != checkpoints)
      return op->emitOpError("uses the batch or rows from before a "
                             "sluice.checkpoint that stands before it");
  // select_outputs_c2
  bool readsSelected =
      llvm::any_of(op->getOperands(), [&](Value v) { return isSelected(v); });
  bool readsAll =
      llvm::any_of(op->getOperands(), [&](Value v) { return isOfAllRows(v); });
  if (readsSelected && readsAll && !isa<CheckpointOp, YieldOp, SendOp>(op))
    return op->emitOpError("takes rows that sluice.select_outputs picked "
                           "beside the batch or rows of all of it");
  return success();
}

LogicalResult RowFlow::visit(Operation *op) {
  if (failed(checkOperands(op)))
    return failure();
  if (auto layer = dyn_cast<LayerOp>(op)) {
    // The layer's results are the values that it yields.
    define(layer.getBody().getArgument(0), isSelected(layer.getInput()));
    return success();
  }
  if (auto yield = dyn_cast<YieldOp>(op)) {
    auto layer = cast<LayerOp>(yield->getParentOp());
    define(layer.getResult(), isSelected(yield.getValue()));
    if (layer.getResultBatch())
      define(layer.getResultBatch());
    return success();
  }
  if (auto checkpoint = dyn_cast<CheckpointOp>(op)) {
    ++checkpoints;
    define(checkpoint.getResultBatch());
    for (auto [input, result] :
         llvm::zip_equal(checkpoint.getInputs(), checkpoint.getResults()))
      define(result, isSelected(input));
    return success();
  }
  bool isOfOutputs =
      isa<SelectOutputsOp>(op) ||
      llvm::any_of(op->getOperands(), [&](Value v) { return isSelected(v); });
  for (Value result : op->getResults())
    define(result, isOfOutputs);
  return success();
}

LogicalResult ir::verifyRowFlow(Operation *frame) {
  return RowFlow(frame).run();
}

bool ir::isOfOutputs(Operation *frame, Value rows) {
  RowFlow flow(frame);
  return succeeded(flow.run()) && flow.isSelected(rows);
}

//===----------------------------------------------------------------------===//
// Checks that models, stages and workers have in common
//===----------------------------------------------------------------------===//

bool ir::isFused(Operation *frame) {
  // A worker receives only batches.
  return isa<WorkerOp>(frame) ||
         isa<BatchType>(frame->getRegion(0).getArgument(0).getType());
}

LogicalResult ir::requireFused(Operation *frame) {
  if (isFused(frame))
    return success();
  return frame->emitError("takes a !sluice.chunk, the rows of one request: "
                          "--sluice-fuse-decode comes first");
}

FailureOr<int64_t> ir::verifyLayerNumbers(Region &body,
                                          std::optional<int64_t> first) {
  std::optional<int64_t> next = first;
  for (LayerOp layer : body.getOps<LayerOp>()) {
    int64_t index = static_cast<int64_t>(layer.getIndex());
    if (next.value_or(index) != index)
      return layer.emitOpError()
             << "is numbered " << index << ", expected " << *next;
    next = index + 1;
  }
  return next.value_or(0);
}

LogicalResult ir::verifyPrediction(Operation *op,
                                   std::optional<ArrayRef<int64_t>> costs,
                                   std::optional<uint64_t> stepRows) {
  // stage_c4
  // worker_c4
  // speculate_c8
  // program_c8
  if (costs && costs->size() != StepTimes::rowCounts.size())
    return op->emitOpError()
           << "has costs for " << costs->size() << " row counts, expected "
           << StepTimes::rowCounts.size();
  if (costs && (costs->front() <= 0 || !llvm::is_sorted(*costs)))
    return op->emitOpError("has costs that are not positive, or that fall with "
                           "more rows");
  // stage_c5
  // worker_c5
  if (stepRows && static_cast<int64_t>(*stepRows) <= 0)
    return op->emitOpError() << "step_rows must be positive, got "
                             << static_cast<int64_t>(*stepRows);
  return success();
}

LogicalResult ir::verifyMaxLatency(Operation *op,
                                   std::optional<uint64_t> micros) {
  // pipeline_c2
  // deployment_c5
  auto limit = static_cast<int64_t>(micros.value_or(1));
  if (limit < 1 || limit > maxLatencyMicros)
    return op->emitOpError() << "max_latency_us must be 1 to "
                             << maxLatencyMicros << ", got " << limit;
  return success();
}
