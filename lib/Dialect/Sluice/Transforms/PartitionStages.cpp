//===- PartitionStages.cpp - the pass that cuts a model into stages -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cluster/ClusterFile.h"
#include "runtime/cluster/DeviceGroups.h"
#include "runtime/cluster/PipelinePlan.h"
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

/// The name of the `sluice.generate` that says how a request is served.
static constexpr StringRef generateName = "generate";

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static std::string nameStage(ModelOp model, int64_t number) {
  return (model.getSymName() + ".s" + Twine(number)).str();
}

namespace {

/// Copies a model's ops into stages, one stage after the other.
class StageCutter {
public:
  StageCutter(ModelOp model, const cluster::Cluster &cluster,
              const cluster::GroupedCluster &groups, int64_t context)
      : model(model), cluster(cluster), groups(groups), context(context),
        b(model) {
    next = model.getBody().front().begin();
  }

  /// Makes the next stage, which ends with its last layer, or with the model's
  /// end if it has the output.
  FailureOr<StageOp> cut(const cluster::StagePlan &plan, int64_t number);

private:
  StageOp createStage(const cluster::StagePlan &plan, int64_t number);
  LogicalResult copy(Operation *op);

  ModelOp model;
  const cluster::Cluster &cluster;
  const cluster::GroupedCluster &groups;
  int64_t context;
  OpBuilder b;
  Block::iterator next; ///< the first op that is in no stage yet
  Value forwarded;      ///< the model's value that the previous stage forwards
  IRMapping values;     ///< the model's values in this stage
};

} // namespace

StageOp StageCutter::createStage(const cluster::StagePlan &plan,
                                 int64_t number) {
  // The stage's result type is the type of the rows that it forwards, which is
  // known only at its end.
  SmallVector<Attribute> places;
  for (cluster::Place place : groups.placesOf(plan.place))
    places.push_back(toPlaceAttr(b.getContext(), cluster, place));
  auto stage = StageOp::create(
      b, model.getLoc(), nameStage(model, number), b.getArrayAttr(places),
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
    // The op of a weight can be repeated in each stage.
    if (Operation *weight = operand.getDefiningOp();
        isa_and_nonnull<ParamOp, ShardOp>(weight)) {
      b.clone(*weight, values);
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
    if (isa<ParamOp, ShardOp>(*next))
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
  stage.setCosts(predictedCosts(
      stageCostOf(stage, groups.cluster.device(plan.place)), context));
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
    draft = {};
    auto model = SymbolTable(module).lookup<ModelOp>(target);
    if (!model) {
      module.emitError() << "there is no sluice.model @" << target;
      return signalPassFailure();
    }
    if (failed(checkModule(module, model)))
      return signalPassFailure();
    Expected<cluster::Cluster> machines = findCluster(getMembers(model));
    if (!machines) {
      model.emitError() << machines.status().message();
      return signalPassFailure();
    }
    Expected<cluster::GroupedCluster> groups =
        cluster::groupDevices(*machines, getMembers(model));
    if (!groups) {
      model.emitError() << groups.status().message();
      return signalPassFailure();
    }
    Expected<cluster::PipelinePlan> plan = planStages(model, groups->cluster);
    if (!plan) {
      model.emitError() << plan.status().message();
      return signalPassFailure();
    }
    if (failed(checkNames(module, model, plan->partition.stages.size())) ||
        failed(rewrite(model, *machines, *groups, *plan)))
      return signalPassFailure();
    setCluster(module, *machines);
  }

private:
  LogicalResult checkModule(ModuleOp module, ModelOp model);
  LogicalResult checkNames(ModuleOp module, ModelOp model, size_t stageCount);
  Expected<cluster::Cluster> findCluster(int64_t members);
  Expected<cluster::PipelinePlan> planStages(ModelOp model,
                                             const cluster::Cluster &groups);
  LogicalResult rewrite(ModelOp model, const cluster::Cluster &machines,
                        const cluster::GroupedCluster &groups,
                        const cluster::PipelinePlan &plan);
  void explain(ModelOp model, const cluster::Partition &cut);

  int64_t contextOf(ModelOp model) const {
    return std::min<int64_t>(context, int64_t(model.getContextLength()));
  }

  /// The module's draft, or null.
  ModelOp draft;
};

} // namespace

/// Checks that the module can be cut, and finds the draft.
LogicalResult PartitionStagesPass::checkModule(ModuleOp module, ModelOp model) {
  for (auto other : module.getOps<ModelOp>()) {
    if (other == model)
      continue;
    if (draft)
      return other.emitError("is the third model: @")
             << draft.getSymName() << " is the draft of @" << target
             << " already";
    draft = other;
  }
  if (draft && draft.getTensorParallel())
    return draft.emitError("is tensor parallel, but a draft is on one device");
  if (stages > 1 && model.getBody().getOps<LayerOp>().empty())
    return model.emitError() << stages.getValue()
                             << " stages were asked for, the model has no "
                                "layers";
  return success();
}

/// Checks that the names of the ops to be made are free.
LogicalResult PartitionStagesPass::checkNames(ModuleOp module, ModelOp model,
                                              size_t stageCount) {
  SymbolTable symbols(module);
  SmallVector<std::string> names = {generateName.str()};
  for (size_t stage = 0; stage < stageCount; ++stage)
    names.push_back(nameStage(model, int64_t(stage)));
  for (StringRef name : names)
    if (Operation *taken = symbols.lookup(name))
      return taken->emitError("'") << name << "' is a name that cutting @"
                                   << target << " into stages needs";
  return success();
}

/// Returns the cluster of the option, else the module's cluster, else as many
/// equal nodes as stages, each with a device for every member of a group.
Expected<cluster::Cluster> PartitionStagesPass::findCluster(int64_t members) {
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
  bool ownNode = draft && placement == Placement::Own;
  return cluster::makeEqualCluster(std::max<int64_t>(stages, 1), ownNode,
                                   cluster::defaultDevice(),
                                   cluster::defaultLink(), members);
}

/// Plans the stages on a cluster in which each group is one device.
Expected<cluster::PipelinePlan>
PartitionStagesPass::planStages(ModelOp model, const cluster::Cluster &groups) {
  cluster::ModelCost cost = costOfPart(model);
  // A model without layers is one stage. An empty layer stands between its
  // embedding and its output.
  if (cost.layers.empty())
    cost.layers.emplace_back();
  cluster::PipelinePlanOptions options;
  options.stages = stages;
  options.ownDraftRank = placement == Placement::Own;
  options.context = contextOf(model);
  options.cachePositions = int64_t(model.getContextLength());
  options.acceptance = acceptance;
  if (!draft)
    return cluster::planPipeline(cost, nullptr, groups, options);
  options.draftCachePositions = int64_t(draft.getContextLength());
  cluster::ModelCost draftCost = costOfPart(draft);
  return cluster::planPipeline(cost, &draftCost, groups, options);
}

/// Makes @generate, which describes how one token is made, as yet without a
/// draft.
static GenerateOp createGenerate(OpBuilder &b, PipelineOp pipeline,
                                 PlaceAttr head) {
  Location loc = pipeline.getLoc();
  auto name = FlatSymbolRefAttr::get(pipeline.getSymNameAttr());
  auto generate = GenerateOp::create(b, loc, b.getStringAttr(generateName),
                                     name, head, FlatSymbolRefAttr());
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

LogicalResult
PartitionStagesPass::rewrite(ModelOp model, const cluster::Cluster &machines,
                             const cluster::GroupedCluster &groups,
                             const cluster::PipelinePlan &plan) {
  OpBuilder b(model);
  StageCutter cutter(model, machines, groups, contextOf(model));
  SmallVector<Attribute> names;
  for (auto [number, cut] : llvm::enumerate(plan.partition.stages)) {
    FailureOr<StageOp> stage = cutter.cut(cut, int64_t(number));
    if (failed(stage))
      return failure();
    names.push_back(FlatSymbolRefAttr::get((*stage).getSymNameAttr()));
  }
  auto pipeline = PipelineOp::create(
      b, model.getLoc(), model.getSymName(), b.getArrayAttr(names),
      model.getArchitecture(), model.getModelName(), model.getVocabSize(),
      model.getContextLength(), model.getEosTokens(), IntegerAttr());
  PlaceAttr head;
  if (plan.ownRank)
    head = toPlaceAttr(b.getContext(), machines,
                       groups.placesOf(*plan.ownRank).front());
  createGenerate(b, pipeline, head);
  explain(model, plan.partition);
  stagesCut += plan.partition.stages.size();
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
