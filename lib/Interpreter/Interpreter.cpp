//===- Interpreter.cpp - the reference interpreter ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/Interpreter.h"

#include "Evaluator.h"
#include "OpError.h"
#include "Parts.h"
#include "sluice/Interpreter/Ops.h"

#include "mlir/IR/SymbolTable.h"

using namespace sluice;
using namespace sluice::interpreter;

using mlir::Operation;

static Status otherPhase(Operation *op) {
  return opError(op,
                 "only modules of the phases 'model', 'pipeline', "
                 "'program' and 'plan' are interpreted, and this op belongs to "
                 "another");
}

/// Returns whether the op may stand in a module that is interpreted.
static bool isKnown(Operation *op) {
  return llvm::isa<ir::FileOp, ir::WeightOp, ir::SliceOp, ir::TokenizerOp,
                   ir::ModelOp, ir::StageOp, ir::PipelineOp, ir::GenerateOp,
                   ir::RankOp, ir::ChannelOp, ir::WorkerOp, ir::GroupOp,
                   ir::StepOp, ir::DeploymentOp>(op);
}

/// Returns the step of a deployment's first stage, or null if the stages are
/// programs.
static ir::StepOp firstStep(ir::DeploymentOp deployment) {
  auto name = llvm::cast<mlir::FlatSymbolRefAttr>(deployment.getStages()[0]);
  return mlir::SymbolTable::lookupNearestSymbolFrom<ir::StepOp>(deployment,
                                                                name);
}

/// Returns the op that represents the target model: the op that
/// `sluice.generate` names, or the `sluice.deployment` of steps; else the only
/// `sluice.model`, `sluice.pipeline` or `sluice.step` without a counterpart. If
/// there are several, as after a draft was merged into the module, returns the
/// one called @main.
static Expected<Operation *> findTarget(mlir::ModuleOp module) {
  llvm::SmallVector<Operation *> models;
  for (Operation &op : *module.getBody()) {
    if (!isKnown(&op))
      return otherPhase(&op);
    if (auto generate = llvm::dyn_cast<ir::GenerateOp>(op))
      return mlir::SymbolTable::lookupNearestSymbolFrom(
          module, generate.getTargetAttr());
    if (auto deployment = llvm::dyn_cast<ir::DeploymentOp>(op))
      return firstStep(deployment) ? Expected<Operation *>(&op)
                                   : otherPhase(&op);
    auto step = llvm::dyn_cast<ir::StepOp>(op);
    if (llvm::isa<ir::ModelOp, ir::PipelineOp>(op) ||
        (step && !step.getCounterpart()))
      models.push_back(&op);
  }
  if (models.empty())
    return opError(module, "the module has no sluice.model");
  if (models.size() == 1)
    return models.front();
  auto nameOf = [](Operation *op) {
    return mlir::SymbolTable::getSymbolName(op).getValue();
  };
  auto main = llvm::find_if(
      models, [&](Operation *op) { return nameOf(op) == "main"; });
  if (main == models.end())
    return opError(models[1], "the module has several models, @",
                   nameOf(models[0]).str(), " and @", nameOf(models[1]).str(),
                   " among them, and none is called @main");
  return *main;
}

template <typename Op> static ModelInfo infoOf(Op op) {
  return {static_cast<int64_t>(op.getVocabSize()),
          static_cast<int64_t>(op.getContextLength()),
          {op.getEosTokens().begin(), op.getEosTokens().end()}};
}

/// Returns the steps of all stages. The steps of a group's members follow each
/// other.
static std::vector<Operation *> findSteps(ir::DeploymentOp deployment) {
  std::vector<Operation *> steps;
  auto add = [&](mlir::Attribute name) {
    steps.push_back(mlir::SymbolTable::lookupNearestSymbolFrom(
        deployment, llvm::cast<mlir::FlatSymbolRefAttr>(name)));
  };
  if (!deployment.getGroups())
    llvm::for_each(deployment.getStages(), add);
  else
    for (auto group : deployment.getGroups()->getAsRange<mlir::ArrayAttr>())
      llvm::for_each(group, add);
  return steps;
}

/// Returns the ops whose bodies are executed, in order.
static std::vector<Operation *> findParts(Operation *model) {
  if (auto deployment = llvm::dyn_cast<ir::DeploymentOp>(model))
    return findSteps(deployment);
  auto pipeline = llvm::dyn_cast<ir::PipelineOp>(model);
  if (!pipeline)
    return {model};
  std::vector<Operation *> parts;
  for (auto name : pipeline.getStages().getAsRange<mlir::FlatSymbolRefAttr>())
    parts.push_back(mlir::SymbolTable::lookupNearestSymbolFrom(pipeline, name));
  return parts;
}

Expected<Interpreter> Interpreter::open(mlir::ModuleOp module,
                                        Operation *model) {
  std::vector<Operation *> parts = findParts(model);
  for (Operation *part : parts) {
    Operation *unknown = nullptr;
    // All members of a group are alike, so the first one is checked.
    Operation *frame = part;
    if (ir::WorkerOp worker = ir::getFirstWorker(part))
      frame = worker;
    frame->getRegion(0).walk([&](Operation *op) {
      if (isSupported(op))
        return mlir::WalkResult::advance();
      unknown = op;
      return mlir::WalkResult::interrupt();
    });
    if (unknown)
      return otherPhase(unknown);
  }
  Expected<WeightStore> weights = WeightStore::open(module);
  if (!weights)
    return weights.status();
  ModelInfo info;
  if (auto pipeline = llvm::dyn_cast<ir::PipelineOp>(model))
    info = infoOf(pipeline);
  else if (auto step = llvm::dyn_cast<ir::StepOp>(parts.front()))
    info = infoOf(step);
  else
    info = infoOf(llvm::cast<ir::ModelOp>(model));
  return Interpreter(std::move(parts), std::move(info), weights.take());
}

Expected<Interpreter> Interpreter::create(mlir::ModuleOp module) {
  Expected<Operation *> target = findTarget(module);
  if (!target)
    return target.status();
  return open(module, *target);
}

Expected<std::optional<Interpreter>>
Interpreter::createDraft(mlir::ModuleOp module) {
  for (auto generate : module.getOps<ir::GenerateOp>())
    if (ir::SpeculateOp speculate = generate.getSpeculate()) {
      Expected<Interpreter> draft =
          open(module, mlir::SymbolTable::lookupNearestSymbolFrom(
                           module, speculate.getDraftAttr()));
      if (!draft)
        return draft.status();
      return std::optional<Interpreter>(draft.take());
    }
  for (auto deployment : module.getOps<ir::DeploymentOp>())
    if (deployment.getDraftAttr()) {
      Expected<Interpreter> draft =
          open(module, mlir::SymbolTable::lookupNearestSymbolFrom(
                           module, deployment.getDraftAttr()));
      if (!draft)
        return draft.status();
      return std::optional<Interpreter>(draft.take());
    }
  return std::optional<Interpreter>();
}

/// Checks that the rows are of one sequence, if the module's steps take no
/// others.
Status Interpreter::checkSequences(const StepBatch &batch) const {
  // The rows of a sequence are contiguous, so the first and last sequence
  // differ if there are several.
  SequenceId first = batch.sequences().front();
  SequenceId last = batch.sequences().back();
  if (isFused() || first == last)
    return {};
  return failure("the step takes the rows of one sequence, and has rows of "
                 "sequences ",
                 first, " and ", last,
                 ": --sluice-fuse-decode lets several share a step");
}

Expected<RowData> Interpreter::step(const StepBatch &batch,
                                    const CachePages &pages) {
  SLUICE_RETURN_IF_ERROR(checkSequences(batch));
  environment.pages = &pages;
  environment.batches.clear();
  Expected<PartResult> logits = evalParts(parts, batch, environment);
  if (!logits)
    return logits.status();
  // A model may return the logits of all rows.
  if (logits->rows->rows() != logits->batch->outputs())
    return evalSelectOutputs(*logits->rows, *logits->batch);
  return *logits->rows;
}

void Interpreter::copyPage(PageCopy copy) {
  for (auto &[key, cache] : environment.caches)
    cache->copyPage(copy);
}
