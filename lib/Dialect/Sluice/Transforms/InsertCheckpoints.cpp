//===- InsertCheckpoints.cpp - the pass that inserts checkpoints ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/Units.h"
#include "sluice/Analysis/ClusterSpec.h"
#include "sluice/Analysis/StepCost.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "sluice-insert-checkpoints"

namespace sluice {
#define GEN_PASS_DEF_INSERTCHECKPOINTS
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// One frame
//===----------------------------------------------------------------------===//

namespace {

/// The time that a stretch may take, and the device, rows and context for which
/// it is predicted.
struct Budget {
  double seconds = 0;
  int64_t rows = 1;
  int64_t context = 0;
  cluster::DeviceSpec device;

  /// Returns the seconds that a step takes before its first op.
  double overhead() const {
    return device.overheadSeconds + double(rows) * device.rowSeconds;
  }
};

/// Inserts checkpoints into a frame. Goes through the executed ops and ends a
/// stretch before the first op that would make it too long. A product that is
/// too long for a stretch of its own is cut into pieces by columns. Each
/// stretch is as long as possible, so the number of checkpoints is the lowest
/// for these products.
class CheckpointInserter {
public:
  CheckpointInserter(Operation *frame, const Budget &budget)
      : frame(frame), budget(budget), b(frame->getContext()),
        spent(budget.overhead() < budget.seconds ? budget.overhead() : 0) {}

  LogicalResult run() {
    Block &body = frame->getRegion(0).front();
    batch = body.getArgument(0);
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (auto layer = dyn_cast<LayerOp>(op)) {
        if (failed(visitLayer(layer)))
          return failure();
      } else {
        visit(&op);
      }
    }
    return success();
  }

  int64_t checkpoints = 0, products = 0;
  /// The ops that take longer than a stretch may and cannot be cut.
  SmallVector<Operation *> tooLong;

private:
  double secondsOf(const cluster::OpCost &cost) const {
    return cluster::opSeconds(cost, budget.rows, budget.context, budget.device);
  }
  void visit(Operation *op);
  LogicalResult visitLayer(LayerOp layer);
  void spend(Operation *op, double seconds);
  void place(Operation *before);
  void split(LinearOp linear);
  int64_t columnsThatFit(LinearOp linear, int64_t first) const;

  Operation *frame;
  const Budget &budget;
  OpBuilder b;
  Value batch;       ///< the batch at this point
  double spent;      ///< seconds of the stretch so far
  bool empty = true; ///< whether the stretch has no ops so far
};

} // namespace

/// Returns the rows of the block that are computed before `op` and used by it
/// or behind it.
static SmallVector<Value> rowsAcross(Operation *op) {
  Block *block = op->getBlock();
  auto isUsedLater = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !block->findAncestorOpInBlock(*user)->isBeforeInBlock(op);
    });
  };
  SmallVector<Value> live;
  auto add = [&](Value value) {
    if (isRows(value.getType()) && isUsedLater(value))
      live.push_back(value);
  };
  llvm::for_each(block->getArguments(), add);
  for (Operation &before : *block) {
    if (&before == op)
      break;
    llvm::for_each(before.getResults(), add);
  }
  return live;
}

void CheckpointInserter::place(Operation *before) {
  SmallVector<Value> live = rowsAcross(before);
  b.setInsertionPoint(before);
  auto checkpoint = CheckpointOp::create(b, before->getLoc(), batch, live);
  Block *block = before->getBlock();
  for (auto [old, left] : llvm::zip_equal(live, checkpoint.getResults()))
    old.replaceUsesWithIf(left, [&](OpOperand &use) {
      Operation *user = block->findAncestorOpInBlock(*use.getOwner());
      return checkpoint->isBeforeInBlock(user);
    });
  batch = checkpoint.getResultBatch();
  spent = 0;
  empty = true;
  ++checkpoints;
}

/// Adds `op` to this stretch, or begins a new stretch with it if this one would
/// become too long.
void CheckpointInserter::spend(Operation *op, double seconds) {
  if (spent + seconds > budget.seconds && !empty)
    place(op);
  spent += seconds;
  empty = false;
  if (spent > budget.seconds)
    tooLong.push_back(op);
}

void CheckpointInserter::visit(Operation *op) {
  if (auto costs = dyn_cast<CostInterface>(op)) {
    double seconds = secondsOf(costOf(costs));
    // The time that has passed before the op in a stretch that begins with it.
    double fresh = empty ? spent : 0;
    if (auto linear = dyn_cast<LinearOp>(op);
        linear && fresh + seconds > budget.seconds &&
        linear.getEndColumn() - linear.getFirstColumn() > columnUnit)
      return split(linear);
    spend(op, seconds);
  }
  for (OpOperand &operand : op->getOpOperands())
    if (isa<BatchType>(operand.get().getType()))
      operand.set(batch);
}

//===----------------------------------------------------------------------===//
// Products in columns
//===----------------------------------------------------------------------===//

/// Returns the number of columns from `first` on that fit into the stretch: a
/// multiple of columnUnit, or all that are left.
int64_t CheckpointInserter::columnsThatFit(LinearOp linear,
                                           int64_t first) const {
  int64_t end = linear.getEndColumn();
  auto fits = [&](int64_t columns) {
    return spent + secondsOf(costOfColumns(linear, columns)) <= budget.seconds;
  };
  if (fits(end - first))
    return end - first;
  int64_t low = 0, high = llvm::divideCeil(end - first, columnUnit);
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    (fits(middle * columnUnit) ? low : high) = middle;
  }
  return low * columnUnit;
}

void CheckpointInserter::split(LinearOp linear) {
  Location loc = linear.getLoc();
  b.setInsertionPoint(linear);
  // The concat takes each piece as soon as it is made, so that the checkpoints
  // in between pass the piece on.
  auto whole = ConcatOp::create(b, loc, linear.getType(), ValueRange());
  linear.getResult().replaceAllUsesWith(whole);
  int64_t first = linear.getFirstColumn(), end = linear.getEndColumn();
  while (first < end) {
    int64_t columns = columnsThatFit(linear, first);
    if (columns == 0 && !empty) {
      place(whole);
      continue;
    }
    bool fits = columns > 0;
    if (!fits)
      columns = std::min(columnUnit, end - first);
    b.setInsertionPoint(whole);
    auto piece = LinearOp::create(
        b, loc,
        RankedTensorType::get({ShapedType::kDynamic, columns}, b.getF32Type()),
        linear.getInput(), linear.getWeight(), linear.getBias(),
        linear.getTransposedAttr(), b.getI64IntegerAttr(first),
        b.getI64IntegerAttr(first + columns));
    if (!fits)
      tooLong.push_back(piece);
    whole.getInputsMutable().append(piece.getResult());
    spent += secondsOf(costOf(piece));
    empty = false;
    first += columns;
  }
  linear.erase();
  ++products;
  spend(whole, secondsOf(costOf(whole)));
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

LogicalResult CheckpointInserter::visitLayer(LayerOp layer) {
  Value before = batch;
  int64_t sofar = checkpoints;
  for (Operation &op : llvm::make_early_inc_range(layer.getBody().front()))
    visit(&op);
  if (checkpoints == sofar)
    return success();
  // Rows that bypass a layer would also bypass its checkpoints.
  for (Value value : rowsAcross(layer->getNextNode()))
    if (value != layer.getResult())
      return layer.emitError("needs checkpoints, but rows from before it are "
                             "used behind it");
  cast<YieldOp>(layer.getBody().front().getTerminator())
      .getBatchMutable()
      .assign(batch);
  b.setInsertionPoint(layer);
  auto result =
      LayerOp::create(b, layer.getLoc(), layer.getResult().getType(),
                      before.getType(), layer.getIndexAttr(), layer.getInput());
  result.getBody().takeBody(layer.getBody());
  layer.getResult().replaceAllUsesWith(result.getResult());
  layer.erase();
  batch = result.getResultBatch();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class InsertCheckpointsPass
    : public sluice::impl::InsertCheckpointsBase<InsertCheckpointsPass> {
public:
  using InsertCheckpointsBase::InsertCheckpointsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto pipelines = module.getOps<PipelineOp>();
    if (!llvm::hasSingleElement(pipelines))
      return fail(module, "expected one sluice.pipeline");
    if (maxLatency < 0 || maxLatency > maxLatencyMicros || rows < 1 ||
        rows > cluster::maxStepRows || context < 0)
      return fail(module, "max-latency-us must be 0 to " +
                              Twine(maxLatencyMicros) + ", rows 1 to " +
                              Twine(cluster::maxStepRows) +
                              ", and context not negative");
    Expected<cluster::Cluster> found = getCluster(module);
    if (!found)
      return fail(module, found.status().message());
    machines = found.take();
    pipeline = *pipelines.begin();
    SymbolTable symbols(module);
    PlaceAttr first;
    for (auto name : pipeline.getStages().getAsRange<FlatSymbolRefAttr>()) {
      auto stage = symbols.lookup<StageOp>(name.getValue());
      if (!stage)
        return fail(pipeline, "has a stage that is no sluice.stage");
      if (!first)
        first = stage.getFirstPlace();
      Expected<cluster::DeviceSpec> device = deviceOf(*machines, stage);
      if (!device)
        return fail(stage, device.status().message());
      FailureOr<int64_t> stepRows =
          insert(stage, *device, pipeline.getContextLength());
      if (failed(stepRows))
        return signalPassFailure();
      stage.setStepRows(*stepRows);
    }
    for (auto generate : module.getOps<GenerateOp>())
      if (failed(insertInDraft(generate, symbols, first)))
        return signalPassFailure();
    if (maxLatency > 0)
      pipeline.setMaxLatencyUs(maxLatency);
  }

private:
  void fail(Operation *op, const llvm::Twine &message) {
    op->emitError(message);
    signalPassFailure();
  }
  FailureOr<int64_t> insert(Operation *frame, const cluster::DeviceSpec &device,
                            uint64_t contextLength);
  LogicalResult insertInDraft(GenerateOp generate, SymbolTable &symbols,
                              PlaceAttr firstStage);
  int64_t findStepRows(Operation *frame, const Budget &budget) const;
  /// Returns the number of positions that a row attends to in predicted times.
  int64_t contextOf(uint64_t contextLength) const {
    return std::min<int64_t>(context, int64_t(contextLength));
  }
  void explain(Operation *frame, const Budget &budget,
               const CheckpointInserter &inserter, int64_t stepRows) const;
  void warn(Operation *frame, const Budget &budget) const;

  std::optional<cluster::Cluster> machines;
  PipelineOp pipeline;
};

} // namespace

/// Returns the largest number of rows with which no stretch of a step takes too
/// long, but at least the number for which the checkpoints were placed.
int64_t InsertCheckpointsPass::findStepRows(Operation *frame,
                                            const Budget &budget) const {
  int64_t low = budget.rows, high = rows + 1;
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    SmallVector<double> seconds =
        stretchSeconds(frame, middle, budget.context, budget.device);
    (*llvm::max_element(seconds) <= budget.seconds ? low : high) = middle;
  }
  return low;
}

void InsertCheckpointsPass::explain(Operation *frame, const Budget &budget,
                                    const CheckpointInserter &inserter,
                                    int64_t stepRows) const {
  SmallVector<double> seconds =
      stretchSeconds(frame, budget.rows, budget.context, budget.device);
  auto options = [](StringRef name) {
    return remark::RemarkOpts::name(name).category(DEBUG_TYPE);
  };
  remark::passed(frame->getLoc(), options("checkpoints"))
      << remark::metric("in", SymbolTable::getSymbolName(frame).getValue())
      << remark::metric("checkpoints", inserter.checkpoints)
      << remark::metric("products-split", inserter.products)
      << remark::metric("rows", budget.rows)
      << remark::metric("longest-stretch",
                        cluster::formatSeconds(*llvm::max_element(seconds)))
      << remark::metric("step-rows", stepRows);
  if (budget.overhead() >= budget.seconds)
    remark::missed(frame->getLoc(), options("too-long"))
        << "the overhead of a step takes longer than max-latency-us";
  for (Operation *op : inserter.tooLong)
    remark::missed(op->getLoc(), options("too-long"))
        << (op->getName().getStringRef() +
            " takes longer than max-latency-us and cannot be cut")
               .str();
}

/// Warns if the limit cannot be kept, at the op that takes longest.
void InsertCheckpointsPass::warn(Operation *frame, const Budget &budget) const {
  SmallVector<double> seconds =
      stretchSeconds(frame, budget.rows, budget.context, budget.device);
  const double *longest = llvm::max_element(seconds);
  if (*longest <= budget.seconds)
    return;
  auto stretches = stretchesOf(frame);
  auto &ops = stretches[size_t(longest - seconds.begin())];
  auto op =
      llvm::max_element(ops, [&](const ExecutedOp &a, const ExecutedOp &b) {
        return a.seconds(budget.rows, budget.context, budget.device) <
               b.seconds(budget.rows, budget.context, budget.device);
      });
  Operation *at = op == ops.end() ? frame : op->op;
  InFlightDiagnostic warning = at->emitWarning();
  warning << "max-latency-us=" << maxLatency.getValue()
          << " cannot be kept in @"
          << SymbolTable::getSymbolName(frame).getValue()
          << ": its longest stretch takes " << cluster::formatSeconds(*longest);
  if (budget.overhead() >= budget.seconds)
    warning << ", the overhead of a step alone "
            << cluster::formatSeconds(budget.overhead());
  else
    warning << ", most of it in '" << at->getName() << "'";
}

/// Inserts checkpoints into a stage or draft. Returns the largest number of
/// rows of its steps.
FailureOr<int64_t>
InsertCheckpointsPass::insert(Operation *frame,
                              const cluster::DeviceSpec &device,
                              uint64_t contextLength) {
  if (!frame->getRegion(0).getOps<CheckpointOp>().empty() ||
      llvm::any_of(frame->getRegion(0).getOps<LayerOp>(),
                   [](LayerOp layer) { return bool(layer.getResultBatch()); }))
    return frame->emitError("has checkpoints already");
  // Rows can leave only a batch, not a chunk.
  if (failed(requireFused(frame)))
    return failure();
  if (maxLatency == 0)
    return rows.getValue();
  Budget budget;
  budget.device = device;
  budget.seconds = double(maxLatency) * 1e-6;
  budget.context = contextOf(contextLength);
  budget.rows = rowsOfStretches(frame, rows, budget.context, budget.device,
                                budget.seconds);
  CheckpointInserter inserter(frame, budget);
  if (failed(inserter.run()))
    return failure();
  checkpointsInserted += inserter.checkpoints;
  productsSplit += inserter.products;
  int64_t stepRows = findStepRows(frame, budget);
  explain(frame, budget, inserter, stepRows);
  warn(frame, budget);
  return stepRows;
}

LogicalResult InsertCheckpointsPass::insertInDraft(GenerateOp generate,
                                                   SymbolTable &symbols,
                                                   PlaceAttr firstStage) {
  SpeculateOp speculate = generate.getSpeculate();
  if (!speculate)
    return success();
  auto draft = symbols.lookup<ModelOp>(speculate.getDraft());
  if (!draft)
    return speculate.emitError("has a draft that is no sluice.model");
  PlaceAttr place = firstStage;
  if (speculate.getPlacement() == Placement::Own && generate.getPlaceAttr())
    place = generate.getPlaceAttr();
  // The costs are predicted before checkpoints are inserted, which do not
  // count.
  Expected<cluster::Place> where = fromPlaceAttr(*machines, place);
  if (!where)
    return generate.emitError() << where.status().message();
  speculate.setCosts(
      predictedCosts(stageCostOf(draft, machines->device(*where)),
                     contextOf(draft.getContextLength())));
  FailureOr<int64_t> stepRows =
      insert(draft, machines->device(*where), draft.getContextLength());
  if (failed(stepRows))
    return failure();
  speculate.setStepRows(*stepRows);
  return success();
}
