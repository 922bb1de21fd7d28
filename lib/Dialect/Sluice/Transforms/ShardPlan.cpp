//===- ShardPlan.cpp - the plan of rows split over a group ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardPlan.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

LogicalResult ShardPlan::splitHeads(AttendOp op) {
  CacheType cache = op.getCache().getType();
  HeadCounts counts{static_cast<int64_t>(op.getHeads()), cache.getKvHeads(),
                    cache.getHeadDim()};
  std::optional<HeadSplit> split = HeadSplit::create(counts, members);
  if (!split)
    return op.emitError() << counts.heads << " heads and " << counts.kvHeads
                          << " key heads cannot be split over " << members
                          << " members of a group";
  if (split->kvHeads() * members > counts.kvHeads)
    missed.emplace_back(op, "each of " + std::to_string(counts.kvHeads) +
                                " key heads is kept by " +
                                std::to_string(members / counts.kvHeads) +
                                " members");
  heads.try_emplace(op, *split);
  FeatureSplit queries = split->queries(), keys = split->keys();
  splits[op.getResult()] = queries;
  return success(succeeded(demand(op.getQuery(), queries, op)) &&
                 succeeded(demand(op.getKey(), keys, op)) &&
                 succeeded(demand(op.getValue(), keys, op)));
}

/// Splits an activation or gate, together with the products that make its
/// operands.
LogicalResult ShardPlan::splitMiddle(Operation *op) {
  int64_t width = getWidth(op->getResult(0).getType());
  std::optional<FeatureSplit> split = splitEvenly(width, members);
  if (!split)
    return op->emitError() << width
                           << " feed-forward columns cannot be split over "
                           << members << " members of a group";
  splits[op->getResult(0)] = *split;
  for (Value operand : op->getOperands())
    if (failed(demand(operand, *split, op)))
      return failure();
  return success();
}

void ShardPlan::splitLogits(ReturnOp op) {
  auto linear = op.getLogits().getDefiningOp<LinearOp>();
  // The product yields a sum over the members, which every member has as a
  // whole.
  if (linear && findInput(linear))
    return;
  int64_t width = getWidth(op.getLogits().getType());
  std::optional<FeatureSplit> split = splitWithOverlap(width, members);
  if (!linear || !split || !linear->hasOneUse()) {
    missed.emplace_back(op, "each member computes all logits");
    return;
  }
  logits = linear.getResult();
  splits[logits] = *split;
}

/// Splits the rows that hold queries, keys and values together.
LogicalResult ShardPlan::splitFused(SplitQKVOp op) {
  int64_t count =
      llvm::count_if(op->getResults(), [&](Value rows) { return find(rows); });
  if (count == 0)
    return success();
  HeadCounts counts{static_cast<int64_t>(op.getHeads()),
                    static_cast<int64_t>(op.getKvHeads()),
                    static_cast<int64_t>(op.getHeadDim())};
  std::optional<HeadSplit> split = HeadSplit::create(counts, members);
  if (count != 3 || !split || *find(op.getQuery()) != split->queries() ||
      *find(op.getKey()) != split->keys() ||
      *find(op.getValue()) != split->keys())
    return op.emitOpError("takes queries, keys and values apart that are not "
                          "those of one attention, and cannot be split");
  return demand(op.getInput(), split->fused(op.getLayout()), op);
}

/// Returns whether an op is a norm, which needs whole heads or rows.
static bool isNorm(Operation *op) {
  auto columns = dyn_cast_or_null<ColumnOpInterface>(op);
  return columns && columns.countSums() > 0;
}

/// Checks that each member has whole heads of a norm, if its rows are split so.
static LogicalResult checkHeads(ColumnOpInterface norm,
                                const FeatureSplit &split) {
  int64_t head = getWidth(norm->getResult(0).getType()) / norm.countHeads();
  for (ArrayRef<int64_t> ranges : split.ranges)
    for (int64_t bound : ranges)
      if (bound % head != 0)
        return norm->emitOpError()
               << "has heads of " << head
               << " features, of which one is cut at " << bound
               << " if it is split over " << split.ranges.size()
               << " members of a group";
  return success();
}

/// Splits `rows` by splitting the op that makes them.
LogicalResult ShardPlan::demand(Value rows, const FeatureSplit &split,
                                Operation *user) {
  auto [entry, isNew] = splits.try_emplace(rows, split);
  if (!isNew && entry->second != split)
    return user->emitOpError(
        "needs rows split in another way than an op before "
        "it does");
  Operation *op = rows.getDefiningOp();
  // splitFused() and check() handle these ops later.
  if (isa_and_nonnull<LinearOp, SplitQKVOp>(op))
    return success();
  if (auto rope = dyn_cast_or_null<RopeOp>(op))
    return demand(rope.getInput(), split, rope);
  if (isNorm(op)) {
    if (failed(checkHeads(cast<ColumnOpInterface>(op), split)))
      return failure();
    return demand(op->getOperand(0), split, op);
  }
  return user->emitOpError(
      "takes rows that no product makes, and cannot be split "
      "over a group");
}

//===----------------------------------------------------------------------===//
// Checks of splits
//===----------------------------------------------------------------------===//

/// Returns the weight whose whole is this value, or null.
static WeightOp findWeight(Value value) {
  auto param = value.getDefiningOp<ParamOp>();
  if (!param)
    return {};
  return SymbolTable::lookupNearestSymbolFrom<WeightOp>(param,
                                                        param.getWeightAttr());
}

/// Checks that columns of a weight are cut between blocks.
static LogicalResult checkBlocks(LinearOp op, WeightOp weight,
                                 const FeatureSplit &split) {
  for (ElementFormat format : {weight.getStored(), weight.getElementFormat()})
    for (ArrayRef<int64_t> ranges : split.ranges)
      for (int64_t bound : ranges)
        if (!rowBytes(toFormat(format), bound))
          return op.emitError("cannot split @")
                 << weight.getSymName() << " over " << split.ranges.size()
                 << " members of a group: column " << bound << " is inside a "
                 << stringifyElementFormat(format) << " block of "
                 << formatInfo(toFormat(format)).blockElements;
  return success();
}

LogicalResult ShardPlan::checkLinear(LinearOp op) const {
  const FeatureSplit *input = findInput(op);
  if (input && find(op.getResult()))
    return op.emitOpError("stands between two products that are split, and "
                          "cannot be");
  if (!input && !find(op.getResult()))
    return success();
  if (op.getColumnsBegin())
    return op.emitOpError("is computed in columns already: a model is split "
                          "before its checkpoints are inserted");
  WeightOp weight = findWeight(op.getWeight());
  if (!weight || (op.getBias() && !findWeight(op.getBias())))
    return op.emitOpError("has a weight that is split already");
  // A transposed weight has no blocks.
  if (!input || op.getTransposed())
    return success();
  return checkBlocks(op, weight, *input);
}

LogicalResult ShardPlan::check(Operation *op) const {
  if (auto linear = dyn_cast<LinearOp>(op))
    return checkLinear(linear);
  for (Value operand : op->getOperands()) {
    // The logits are gathered later. Each of these ops takes split operands if
    // its result is split.
    bool isGathered = logits && operand == logits;
    bool isSplitToo =
        (isa<AttendOp, RopeOp, SplitQKVOp, ActivationOp, GateOp>(op) ||
         isNorm(op)) &&
        find(op->getResult(0));
    if (find(operand) && !isGathered && !isSplitToo)
      return op->emitOpError("takes rows that are split over a group, and "
                             "needs whole ones");
  }
  return success();
}

FailureOr<ShardPlan> ShardPlan::create(ModelOp model, int64_t members) {
  if (model.getTensorParallel())
    return model.emitOpError("is tensor parallel already");
  ShardPlan plan(members);
  auto forAll = [&](auto visit) {
    WalkResult result = model.getBody().walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult { return visit(op); });
    return failure(result.wasInterrupted());
  };
  auto split = [&](Operation *op) -> LogicalResult {
    if (auto attend = dyn_cast<AttendOp>(op))
      return plan.splitHeads(attend);
    if (isa<ActivationOp, GateOp>(op))
      return plan.splitMiddle(op);
    if (auto end = dyn_cast<ReturnOp>(op))
      plan.splitLogits(end);
    return success();
  };
  auto splitFused = [&](Operation *op) -> LogicalResult {
    auto fused = dyn_cast<SplitQKVOp>(op);
    return fused ? plan.splitFused(fused) : success();
  };
  auto check = [&](Operation *op) { return plan.check(op); };
  if (failed(forAll(split)) || failed(forAll(splitFused)) ||
      failed(forAll(check)))
    return failure();
  return plan;
}
