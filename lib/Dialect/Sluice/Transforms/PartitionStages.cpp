//===- PartitionStages.cpp - cuts a model into placed stages --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/ClusterFile.h"
#include "runtime/cluster/Partition.h"
#include "runtime/cluster/Units.h"
#include "sluice/Analysis/ClusterSpec.h"
#include "sluice/Analysis/StepCost.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "sluice-partition-stages"

namespace sluice {
#define GEN_PASS_DEF_PARTITIONSTAGES
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {

/// Copies a model's ops into stages, one after the other.
class StageCutter {
public:
  StageCutter(ModelOp model, const cluster::Cluster &cluster, int64_t context)
      : model(model), cluster(cluster), context(context), b(model) {
    next = model.getBody().front().begin();
  }

  /// Makes the next stage: up to its last layer, or the model's end where it
  /// has the output.
  FailureOr<StageOp> cut(const cluster::StagePlan &plan, int64_t number);

private:
  StageOp createStage(const cluster::StagePlan &plan, int64_t number);
  LogicalResult copy(Operation *op);

  ModelOp model;
  const cluster::Cluster &cluster;
  int64_t context;
  OpBuilder b;
  Block::iterator next; ///< the first op that is in no stage yet
  Value forwarded;      ///< what the stage before forwards, in the model
  IRMapping values;     ///< the model's, in this stage
};

} // namespace

StageOp StageCutter::createStage(const cluster::StagePlan &plan,
                                 int64_t number) {
  // What it forwards, and so its result type, is known at its end.
  auto stage = StageOp::create(
      b, model.getLoc(), (model.getSymName() + ".s" + Twine(number)).str(),
      toPlaceAttr(b.getContext(), cluster, plan.place),
      RankedTensorType::get({ShapedType::kDynamic, 1}, b.getF32Type()),
      DenseI64ArrayAttr(), IntegerAttr());
  Block &body = stage.getBody().emplaceBlock();
  values.clear();
  values.map(model.getBatch(),
             body.addArgument(model.getBatch().getType(), model.getLoc()));
  if (forwarded)
    values.map(forwarded,
               body.addArgument(forwarded.getType(), forwarded.getLoc()));
  return stage;
}

LogicalResult StageCutter::copy(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (values.contains(operand))
      continue;
    // A weight's value can be had anywhere.
    if (auto param = operand.getDefiningOp<ParamOp>()) {
      b.clone(*param, values);
      continue;
    }
    return op->emitError("uses rows from before the layer that ends the stage "
                         "before: only what that layer yields goes on");
  }
  b.clone(*op, values);
  return success();
}

FailureOr<StageOp> StageCutter::cut(const cluster::StagePlan &plan,
                                    int64_t number) {
  OpBuilder::InsertionGuard guard(b);
  StageOp stage = createStage(plan, number);
  b.setInsertionPointToEnd(&stage.getBody().front());
  Operation *end = model.getBody().front().getTerminator();
  int64_t layersLeft = plan.range.layers;
  Value last;
  for (; &*next != end && (plan.range.output || layersLeft > 0); ++next) {
    if (isa<ParamOp>(*next))
      continue;
    if (failed(copy(&*next)))
      return failure();
    if (auto layer = dyn_cast<LayerOp>(*next)) {
      --layersLeft;
      last = layer.getResult();
    }
  }
  if (plan.range.output)
    last = cast<ReturnOp>(end).getLogits();
  if (!values.contains(last))
    return end->emitError("returns rows from before the last stage");
  ForwardOp::create(b, end->getLoc(), values.lookup(last));
  stage.setOutput(cast<RankedTensorType>(last.getType()));
  forwarded = last;
  stage.setCosts(
      predictedCosts(stageCostOf(stage, cluster.device(plan.place)), context));
  return stage;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class PartitionStagesPass
    : public sluice::impl::PartitionStagesBase<PartitionStagesPass> {
public:
  using PartitionStagesBase::PartitionStagesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto model = SymbolTable(module).lookup<ModelOp>(target);
    if (!model) {
      module.emitError() << "there is no sluice.model @" << target;
      return signalPassFailure();
    }
    for (auto other : module.getOps<ModelOp>())
      if (other != model)
        draft = other;
    Expected<cluster::Cluster> machines = findCluster();
    if (!machines) {
      model.emitError() << machines.status().message();
      return signalPassFailure();
    }
    Expected<cluster::Partition> cut = findCut(model, *machines);
    if (!cut) {
      model.emitError() << cut.status().message();
      return signalPassFailure();
    }
    if (failed(rewrite(model, *machines, *cut)))
      return signalPassFailure();
    setCluster(module, *machines);
  }

private:
  Expected<cluster::Cluster> findCluster();
  Expected<cluster::Partition> findCut(ModelOp model,
                                       const cluster::Cluster &machines);
  Status placeDraft(const cluster::Cluster &machines,
                    cluster::ModelCost &cost) const;
  LogicalResult rewrite(ModelOp model, const cluster::Cluster &machines,
                        const cluster::Partition &cut);
  void explain(ModelOp model, const cluster::Partition &cut);

  int64_t contextOf(ModelOp model) const {
    return std::min<int64_t>(context, int64_t(model.getContextLength()));
  }

  /// Null without one.
  ModelOp draft;
};

} // namespace

/// The described cluster, the module's, or as many equal nodes as stages.
Expected<cluster::Cluster> PartitionStagesPass::findCluster() {
  if (stages < 0)
    return failure("stages=", stages.getValue(), " is negative");
  if (context < 0)
    return failure("context=", context.getValue(), " is negative");
  if (!clusterFile.empty()) {
    Expected<cluster::ClusterFile> file = cluster::readClusterFile(clusterFile);
    if (!file)
      return file.status();
    return file->cluster;
  }
  if (hasCluster(getOperation()))
    return getCluster(getOperation());
  return cluster::makeEqualCluster(std::max<int64_t>(stages, 1), bool(draft),
                                   cluster::defaultDevice(),
                                   cluster::defaultLink());
}

/// Weights and cache of a whole model.
static int64_t memoryOf(ModelOp model) {
  cluster::ModelCost cost = costOfFrame(model);
  return cluster::stageMemoryBytes(cost, cluster::wholeModel(cost),
                                   int64_t(model.getContextLength()));
}

/// Makes room for the draft: on the node that is kept for it, which must have
/// enough, or beside the first stage.
Status PartitionStagesPass::placeDraft(const cluster::Cluster &machines,
                                       cluster::ModelCost &cost) const {
  if (!draft)
    return {};
  int64_t needed = memoryOf(draft);
  if (!machines.draftPlace()) {
    cost.embedding.memoryBytes += needed;
    return {};
  }
  uint64_t has = machines.device(*machines.draftPlace()).memoryBytes;
  if (uint64_t(needed) <= has)
    return {};
  return failure("the draft needs ", cluster::formatBytes(double(needed)),
                 ", node '", machines.placeName(*machines.draftPlace()),
                 "' has ", cluster::formatBytes(double(has)), ": ",
                 cluster::formatBytes(double(needed) - double(has)),
                 " too little");
}

Expected<cluster::Partition>
PartitionStagesPass::findCut(ModelOp model, const cluster::Cluster &machines) {
  cluster::ModelCost cost = costOfFrame(model);
  if (Status status = placeDraft(machines, cost); !status.ok())
    return status;
  // What has no layers is one stage; to cut, it is all embedding and output.
  if (cost.layers.empty())
    cost.layers.emplace_back();
  cluster::PartitionOptions options;
  if (stages > 0)
    options.minStages = options.maxStages = stages;
  options.context = contextOf(model);
  options.cachePositions = int64_t(model.getContextLength());
  // Nothing follows the certain row where nobody guesses.
  options.acceptance = draft ? acceptance.getValue() : 0;
  return cluster::partition(cost, machines, options);
}

/// @generate: what is done for one token, without a draft as yet.
static GenerateOp createGenerate(OpBuilder &b, PipelineOp pipeline,
                                 PlaceAttr head) {
  Location loc = pipeline.getLoc();
  auto name = FlatSymbolRefAttr::get(pipeline.getSymNameAttr());
  auto generate = GenerateOp::create(b, loc, b.getStringAttr("generate"), name,
                                     head, FlatSymbolRefAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&generate.getBody().emplaceBlock());
  Value run = LaunchOp::create(b, loc, RunType::get(b.getContext()), name,
                               FlatSymbolRefAttr(), FlatSymbolRefAttr());
  Value count = VerifyOp::create(b, loc, b.getIndexType(), run, Value());
  CommitOp::create(b, loc, run, count);
  EmitOp::create(b, loc, count);
  EndOp::create(b, loc);
  return generate;
}

LogicalResult PartitionStagesPass::rewrite(ModelOp model,
                                           const cluster::Cluster &machines,
                                           const cluster::Partition &cut) {
  OpBuilder b(model);
  StageCutter cutter(model, machines, contextOf(model));
  SmallVector<Attribute> names;
  for (auto [number, plan] : llvm::enumerate(cut.stages)) {
    FailureOr<StageOp> stage = cutter.cut(plan, int64_t(number));
    if (failed(stage))
      return failure();
    names.push_back(FlatSymbolRefAttr::get((*stage).getSymNameAttr()));
  }
  auto pipeline = PipelineOp::create(
      b, model.getLoc(), model.getSymName(), b.getArrayAttr(names),
      model.getArchitecture(), model.getModelName(), model.getVocabSize(),
      model.getContextLength(), model.getEosTokens(), IntegerAttr());
  // A node that is kept for the draft is the head's too.
  PlaceAttr head;
  if (draft && machines.draftPlace())
    head = toPlaceAttr(b.getContext(), machines, *machines.draftPlace());
  createGenerate(b, pipeline, head);
  explain(model, cut);
  stagesCut += cut.stages.size();
  model.erase();
  return success();
}

void PartitionStagesPass::explain(ModelOp model,
                                  const cluster::Partition &cut) {
  for (const cluster::StagePlan &stage : cut.stages)
    if (!stage.reason.empty())
      remark::passed(model.getLoc(),
                     remark::RemarkOpts::name("cut").category(DEBUG_TYPE))
          << stage.reason;
  remark::analysis(model.getLoc(),
                   remark::RemarkOpts::name("prediction").category(DEBUG_TYPE))
      << remark::metric("stages", int64_t(cut.stages.size()))
      << remark::metric("slowest-stage",
                        cluster::formatSeconds(cut.slowestSeconds))
      << remark::metric("trip", cluster::formatSeconds(cut.tripSeconds));
}
