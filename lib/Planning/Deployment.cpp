//===- Deployment.cpp - how a module's programs work together -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Deployment.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// Reads the attributes that models and pipelines have in common.
template <typename Op>
static ProgramSource makeSource(Operation *frame, Op model) {
  ProgramSource source;
  source.frame = frame;
  source.architecture = model.getArchitectureAttr();
  source.modelName = model.getModelNameAttr();
  source.vocabSize = model.getVocabSizeAttr();
  source.contextLength = model.getContextLengthAttr();
  source.eosTokens = llvm::to_vector(model.getEosTokens());
  return source;
}

/// Returns the workers that compute the stage of that name; none if it is not
/// split into ranks.
static SmallVector<WorkerOp> findWorkers(Operation *from,
                                         FlatSymbolRefAttr name) {
  Operation *stage = SymbolTable::lookupNearestSymbolFrom(from, name);
  if (auto group = dyn_cast_or_null<GroupOp>(stage))
    return getWorkers(group);
  if (auto worker = dyn_cast_or_null<WorkerOp>(stage))
    return {worker};
  return {};
}

static LogicalResult addWorkers(PipelineOp pipeline,
                                SmallVectorImpl<ProgramSource> &sources) {
  for (auto name : pipeline.getStages().getAsRange<FlatSymbolRefAttr>()) {
    SmallVector<WorkerOp> workers = findWorkers(pipeline, name);
    if (workers.empty())
      return pipeline.emitError("has the stage ")
             << name
             << ", which is not a sluice.worker: split the stages into ranks "
                "first";
    for (WorkerOp worker : workers) {
      ProgramSource source = makeSource(worker, pipeline);
      source.stepRows = worker.getStepRowsAttr();
      source.costs = worker.getCostsAttr();
      source.rank = worker.getRankAttr();
      source.members = getMembers(worker);
      sources.push_back(std::move(source));
    }
  }
  return success();
}

FailureOr<SmallVector<ProgramSource>>
sluice::planning::findPrograms(ModuleOp module) {
  SmallVector<ProgramSource> sources;
  for (PipelineOp pipeline : module.getOps<PipelineOp>())
    if (failed(addWorkers(pipeline, sources)))
      return failure();
  for (WorkerOp worker : module.getOps<WorkerOp>())
    if (llvm::none_of(sources, [&](const ProgramSource &source) {
          return source.frame == worker;
        }))
      return worker.emitError("is not a stage of any sluice.pipeline");
  if (!sources.empty())
    return sources;

  auto models = llvm::to_vector(module.getOps<ModelOp>());
  if (models.size() != 1)
    return module.emitError("expected one sluice.model, found ")
           << models.size();
  if (models.front().getTensorParallel())
    return models.front().emitError(
        "is computed by a group of devices: cut it into stages and split them "
        "into ranks first");
  sources.push_back(makeSource(models.front(), models.front()));
  return sources;
}

//===----------------------------------------------------------------------===//
// Deployment
//===----------------------------------------------------------------------===//

/// Returns the program of a draft, which is a pipeline of one stage.
static FailureOr<FlatSymbolRefAttr> findDraft(SpeculateOp speculate) {
  auto pipeline = SymbolTable::lookupNearestSymbolFrom<PipelineOp>(
      speculate, speculate.getDraftAttr());
  if (!pipeline || pipeline.getStages().size() != 1)
    return speculate.emitError("needs a draft of one stage");
  return cast<FlatSymbolRefAttr>(pipeline.getStages()[0]);
}

/// Returns the channels from the head through the stages and back, in that
/// order.
static SmallVector<ChannelOp> findChannels(GenerateOp generate,
                                           PipelineOp target) {
  SmallVector<ChannelOp> channels;
  auto add = [&](FlatSymbolRefAttr name) {
    channels.push_back(
        SymbolTable::lookupNearestSymbolFrom<ChannelOp>(generate, name));
  };
  for (auto name : target.getStages().getAsRange<FlatSymbolRefAttr>()) {
    WorkerOp worker = findWorkers(target, name).front();
    add(worker.getReceive().getChannelAttr());
  }
  add(generate.getLaunch().getResultsAttr());
  return channels;
}

static void eraseChannel(SpeculateOp user, FlatSymbolRefAttr name) {
  if (name)
    SymbolTable::lookupNearestSymbolFrom<ChannelOp>(user, name)->erase();
}

static void findMembers(DeploymentSource &source) {
  PipelineOp target = source.target;
  Builder b(target.getContext());
  SmallVector<Attribute> firsts, groups;
  for (auto name : target.getStages().getAsRange<FlatSymbolRefAttr>()) {
    SmallVector<Attribute> members;
    for (WorkerOp worker : findWorkers(target, name))
      members.push_back(FlatSymbolRefAttr::get(worker.getSymNameAttr()));
    firsts.push_back(members.front());
    groups.push_back(b.getArrayAttr(members));
    if (auto group =
            SymbolTable::lookupNearestSymbolFrom<GroupOp>(target, name))
      source.groupRanks.push_back({group, getFirstWorker(group).getRankAttr()});
  }
  source.stages = b.getArrayAttr(firsts);
  if (!source.groupRanks.empty())
    source.groups = b.getArrayAttr(groups);
}

FailureOr<DeploymentSource> sluice::planning::findDeployment(ModuleOp module) {
  DeploymentSource source;
  auto generates = llvm::to_vector(module.getOps<GenerateOp>());
  if (generates.empty())
    return source;
  if (generates.size() > 1)
    return generates[1].emitError("is the second: an executable has one head");
  source.generate = generates.front();
  if (!source.generate.getRankAttr() ||
      !source.generate.getLaunch().getResultsAttr())
    return source.generate.emitError(
        "has no rank or channels: split the stages into ranks first");
  source.target = SymbolTable::lookupNearestSymbolFrom<PipelineOp>(
      source.generate, source.generate.getTargetAttr());
  source.channels = findChannels(source.generate, source.target);
  findMembers(source);
  if (SpeculateOp speculate = source.generate.getSpeculate()) {
    FailureOr<FlatSymbolRefAttr> draft = findDraft(speculate);
    if (failed(draft))
      return failure();
    source.draft = *draft;
  }
  return source;
}

/// Erases the groups. Their channels now lead to and from their first members.
static void eraseGroups(ModuleOp module, const DeploymentSource &source) {
  DenseMap<Attribute, FlatSymbolRefAttr> ranks;
  for (auto [group, rank] : source.groupRanks) {
    ranks[FlatSymbolRefAttr::get(group.getSymNameAttr())] = rank;
    GroupOp(group).erase();
  }
  for (ChannelOp channel : module.getOps<ChannelOp>()) {
    if (FlatSymbolRefAttr rank = ranks.lookup(channel.getFromAttr()))
      channel.setFromAttr(rank);
    if (FlatSymbolRefAttr rank = ranks.lookup(channel.getToAttr()))
      channel.setToAttr(rank);
  }
}

static void createDeployment(const DeploymentSource &source) {
  GenerateOp generate = source.generate;
  OpBuilder b(generate);
  SpeculateOp speculate = generate.getSpeculate();
  PipelineOp target = source.target;
  auto deployment = DeploymentOp::create(
      b, generate.getLoc(), generate.getRankAttr(), source.stages, source.draft,
      speculate ? speculate.getPlacementAttr() : PlacementAttr(),
      speculate ? speculate.getDepthAttr() : IntegerAttr(),
      speculate ? speculate.getWidthAttr() : IntegerAttr(),
      target.getMaxLatencyUsAttr(), source.groups);
  for (ChannelOp channel : source.channels)
    channel->moveBefore(deployment);
  if (speculate) {
    eraseChannel(speculate, speculate.getViaAttr());
    eraseChannel(speculate, speculate.getResultsAttr());
  }
  generate.erase();
}

void sluice::planning::lowerDeployment(ModuleOp module,
                                       const DeploymentSource &source) {
  if (source.generate)
    createDeployment(source);
  for (PipelineOp pipeline :
       llvm::make_early_inc_range(module.getOps<PipelineOp>()))
    pipeline.erase();
  eraseGroups(module, source);
}
