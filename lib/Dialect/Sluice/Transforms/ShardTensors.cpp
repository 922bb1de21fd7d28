//===- ShardTensors.cpp - the pass that splits a model over a group -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass has two steps: ShardPlan decides which rows are split and finds all
// that cannot be; ModelSharder rewrites the model by that plan and cannot fail.
//
//===----------------------------------------------------------------------===//

#include "ShardPlan.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

#include <map>

#define DEBUG_TYPE "sluice-shard-tensors"

namespace sluice {
#define GEN_PASS_DEF_SHARDTENSORS
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

namespace {

/// Makes the slices of weights. Equal slices are made only once.
class SliceMaker {
public:
  SliceMaker(ModuleOp module, int64_t members)
      : symbols(module), members(members) {}

  /// Returns the value of a weight that is split along one dimension, defined
  /// before `user`. Returns null if `weight` is null.
  Value makeShard(Operation *user, Value weight, WeightDim dim,
                  const FeatureSplit &split);

  int64_t slices = 0;

private:
  FlatSymbolRefAttr makeSlice(WeightOp weight, WeightDim dim,
                              ArrayRef<int64_t> ranges, int64_t member);

  SymbolTable symbols;
  int64_t members;
  using Key = std::tuple<Operation *, WeightDim, std::vector<int64_t>>;
  std::map<Key, FlatSymbolRefAttr> made;
};

} // namespace

FlatSymbolRefAttr SliceMaker::makeSlice(WeightOp weight, WeightDim dim,
                                        ArrayRef<int64_t> ranges,
                                        int64_t member) {
  FlatSymbolRefAttr &name = made[{weight, dim, ranges.vec()}];
  if (name)
    return name;
  OpBuilder b(weight->getContext());
  bool isRows = dim == WeightDim::Rows;
  SmallVector<int64_t> shape(weight.getTensorType().getShape());
  int64_t &sliced = isRows ? shape.front() : shape.back();
  sliced = 0;
  for (size_t i = 0; i < ranges.size(); i += 2)
    sliced += ranges[i + 1] - ranges[i];
  auto bounds = b.getDenseI64ArrayAttr(ranges);
  auto type =
      RankedTensorType::get(shape, weight.getTensorType().getElementType());
  auto slice = SliceOp::create(
      b, weight.getLoc(),
      b.getStringAttr(weight.getSymName() + ".m" + Twine(member)),
      FlatSymbolRefAttr::get(weight.getSymNameAttr()),
      isRows ? bounds : DenseI64ArrayAttr(),
      isRows ? DenseI64ArrayAttr() : bounds, TypeAttr::get(type));
  ++slices;
  // The new slice is inserted behind the weight and the slices that the weight
  // already has.
  Operation *behind = weight;
  while (auto next = dyn_cast_or_null<SliceOp>(behind->getNextNode()))
    behind = next;
  name = FlatSymbolRefAttr::get(
      symbols.insert(slice, std::next(behind->getIterator())));
  return name;
}

Value SliceMaker::makeShard(Operation *user, Value weight, WeightDim dim,
                            const FeatureSplit &split) {
  if (!weight)
    return {};
  auto param = weight.getDefiningOp<ParamOp>();
  auto whole = symbols.lookup<WeightOp>(param.getWeight());
  SmallVector<Attribute> names;
  for (int64_t m = 0; m < members; ++m)
    names.push_back(makeSlice(whole, dim, split.ranges[m], m));
  auto first = symbols.lookup<SliceOp>(
      cast<FlatSymbolRefAttr>(names.front()).getValue());
  OpBuilder b(user);
  return ShardOp::create(b, param.getLoc(), first.getTensorType(),
                         b.getArrayAttr(names));
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {

/// Rewrites a model by a plan: each op in place, with the sizes of one member.
class ModelSharder {
public:
  ModelSharder(ModuleOp module, ModelOp model, const ShardPlan &plan)
      : slices(module, plan.getMembers()), model(model), plan(plan) {}

  void run();

  SliceMaker slices;
  int64_t products = 0, allReduces = 0, allGathers = 0;

private:
  void rewrite(Operation *op);
  void splitOutputs(LinearOp linear, const FeatureSplit &split);
  void splitInputs(LinearOp linear, const FeatureSplit &split);
  void gatherLogits(LinearOp linear, Type whole);
  void rewriteAttend(AttendOp op, const HeadSplit &heads);
  void mergeSums(AddOp op);

  ModelOp model;
  const ShardPlan &plan;
};

} // namespace

static Type rowsOf(MLIRContext *context, int64_t width) {
  return RankedTensorType::get({ShapedType::kDynamic, width},
                               Float32Type::get(context));
}

static WeightDim outDim(LinearOp linear) {
  return linear.getTransposed() ? WeightDim::Columns : WeightDim::Rows;
}

void ModelSharder::splitOutputs(LinearOp linear, const FeatureSplit &split) {
  Type whole = linear.getType();
  linear.getWeightMutable().assign(
      slices.makeShard(linear, linear.getWeight(), outDim(linear), split));
  if (Value bias = linear.getBias())
    linear.getBiasMutable().assign(
        slices.makeShard(linear, bias, WeightDim::Columns, split));
  linear.getResult().setType(
      cast<RankedTensorType>(rowsOf(model.getContext(), split.width())));
  ++products;
  if (plan.isLogits(linear))
    gatherLogits(linear, whole);
}

void ModelSharder::gatherLogits(LinearOp linear, Type whole) {
  OpBuilder b(linear->getContext());
  b.setInsertionPointAfter(linear);
  auto gathered =
      AllGatherOp::create(b, linear.getLoc(), whole, linear.getResult());
  linear.getResult().replaceAllUsesExcept(gathered, gathered);
  ++allGathers;
}

void ModelSharder::splitInputs(LinearOp linear, const FeatureSplit &split) {
  WeightDim dim = linear.getTransposed() ? WeightDim::Rows : WeightDim::Columns;
  linear.getWeightMutable().assign(
      slices.makeShard(linear, linear.getWeight(), dim, split));
  // The bias must be added only once, so it is added to the sum.
  Value bias = linear.getBias();
  linear.getBiasMutable().clear();
  OpBuilder b(linear->getContext());
  b.setInsertionPointAfter(linear);
  auto sum = AllReduceOp::create(b, linear.getLoc(), linear.getType(),
                                 linear.getResult(),
                                 bias ? ValueRange(bias) : ValueRange());
  linear.getResult().replaceAllUsesExcept(sum, sum);
  ++products;
  ++allReduces;
}

void ModelSharder::rewriteAttend(AttendOp op, const HeadSplit &heads) {
  Builder b(op.getContext());
  if (op.getAlibi()) {
    SmallVector<int64_t> first;
    for (int64_t m = 0; m < heads.members; ++m)
      first.push_back(heads.firstHead(m));
    op.setAllHeads(heads.counts.heads);
    op.setFirstHeads(first);
  }
  op.setHeads(heads.heads());
  op.getCache().setType(
      CacheType::get(op.getContext(), heads.kvHeads(), heads.counts.headDim));
}

/// Rewrites an op whose operands have been rewritten to those of one member.
void ModelSharder::rewrite(Operation *op) {
  if (auto linear = dyn_cast<LinearOp>(op)) {
    if (const FeatureSplit *split = plan.find(linear.getResult()))
      splitOutputs(linear, *split);
    else if (const FeatureSplit *split = plan.findInput(linear))
      splitInputs(linear, *split);
    return;
  }
  for (Value result : op->getResults())
    if (const FeatureSplit *split = plan.find(result)) {
      const int64_t whole = getWidth(result.getType());
      result.setType(rowsOf(op->getContext(), split->width()));
      if (auto norm = dyn_cast<ColumnOpInterface>(op);
          norm && norm.countHeads() > 1)
        norm.setHeadCount(norm.countHeads() * split->width() / whole);
    }
  if (auto rope = dyn_cast<RopeOp>(op)) {
    rope.setHeads(getWidth(rope.getType()) / int64_t(rope.getHeadDim()));
  } else if (auto fused = dyn_cast<SplitQKVOp>(op)) {
    auto headDim = static_cast<int64_t>(fused.getHeadDim());
    fused.setHeads(getWidth(fused.getQuery().getType()) / headDim);
    fused.setKvHeads(getWidth(fused.getKey().getType()) / headDim);
  } else if (auto attend = dyn_cast<AttendOp>(op)) {
    if (const HeadSplit *heads = plan.findHeads(attend))
      rewriteAttend(attend, *heads);
  }
}

/// If one of the op's operands is an all-reduce without other uses, returns it
/// and the other operand; else returns null.
static std::pair<AllReduceOp, Value> takeSum(AddOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  for (auto [rows, other] : {std::pair(rhs, lhs), std::pair(lhs, rhs)})
    if (auto sum = rows.getDefiningOp<AllReduceOp>(); sum && sum->hasOneUse())
      return {sum, other};
  return {};
}

/// Merges two sums that are added to the same rows, as in a parallel residual:
/// x + sum(a) + sum(b) becomes x + sum(a + b).
void ModelSharder::mergeSums(AddOp op) {
  auto [second, rest] = takeSum(op);
  auto inner = second ? rest.getDefiningOp<AddOp>() : AddOp();
  if (!inner || !inner->hasOneUse())
    return;
  auto [first, rows] = takeSum(inner);
  if (!first)
    return;
  OpBuilder b(op);
  SmallVector<Value> biases(first.getBiases());
  llvm::append_range(biases, second.getBiases());
  Value parts =
      AddOp::create(b, op.getLoc(), first.getInput(), second.getInput());
  Value sum = AllReduceOp::create(b, op.getLoc(), op.getType(), parts, biases);
  op.getLhsMutable().assign(rows);
  op.getRhsMutable().assign(sum);
  inner->erase();
  first->erase();
  second->erase();
  --allReduces;
}

void ModelSharder::run() {
  SmallVector<Operation *> ops;
  model.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    rewrite(op);
  for (Operation *op : ops)
    if (isa<ParamOp>(op) && op->use_empty())
      op->erase();
  for (LayerOp layer : model.getBody().getOps<LayerOp>()) {
    // A layer ends with its residual.
    auto yield = cast<YieldOp>(layer.getBody().front().getTerminator());
    if (auto residual = yield.getValue().getDefiningOp<AddOp>())
      mergeSums(residual);
  }
  model.setTensorParallel(plan.getMembers());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class ShardTensorsPass
    : public sluice::impl::ShardTensorsBase<ShardTensorsPass> {
public:
  using ShardTensorsBase::ShardTensorsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto model = SymbolTable(module).lookup<ModelOp>(target);
    if (!model) {
      module.emitError() << "there is no sluice.model @" << target;
      return signalPassFailure();
    }
    if (tensorParallel < 1 || tensorParallel > maxMembers) {
      model.emitError() << "tensor-parallel=" << tensorParallel.getValue()
                        << " is not 1 to " << maxMembers;
      return signalPassFailure();
    }
    if (tensorParallel == 1)
      return;
    FailureOr<ShardPlan> plan = ShardPlan::create(model, tensorParallel);
    if (failed(plan))
      return signalPassFailure();
    ModelSharder sharder(module, model, *plan);
    sharder.run();
    count(model, *plan, sharder);
  }

private:
  /// Reports what was done as statistics and remarks.
  void count(ModelOp model, const ShardPlan &plan,
             const ModelSharder &sharder) {
    productsSplit += sharder.products;
    allReducesInserted += sharder.allReduces;
    allGathersInserted += sharder.allGathers;
    slicesMade += sharder.slices.slices;
    auto options = [](StringRef name) {
      return remark::RemarkOpts::name(name).category(DEBUG_TYPE);
    };
    remark::passed(model.getLoc(), options("sharded"))
        << remark::metric("members", plan.getMembers())
        << remark::metric("products-split", sharder.products)
        << remark::metric("all-reduces", sharder.allReduces)
        << remark::metric("all-gathers", sharder.allGathers)
        << remark::metric("slices", sharder.slices.slices);
    for (const auto &[op, reason] : plan.getMissed())
      remark::missed(op->getLoc(), options("whole")) << reason;
  }
};

} // namespace
