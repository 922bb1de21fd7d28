//===- VerifyPhase.cpp - the pass that checks a module's phase ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"
#include "sluice/Dialect/Sluice/Transforms/ChannelWaits.h"
#include "sluice/Dialect/Sluice/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace sluice {
#define GEN_PASS_DEF_VERIFYPHASE
#include "sluice/Dialect/Sluice/Transforms/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// Legal ops
//===----------------------------------------------------------------------===//

/// Returns whether the op refers to the model's files. All phases keep such
/// ops.
static bool isReference(Operation *op) {
  return isa<FileOp, WeightOp, TokenizerOp>(op);
}

/// Returns whether the op describes emitted code.
static bool isOfKernels(Operation *op) {
  return isa<ProgramOp, DeploymentOp, ViewOp, WaitForPriorOp,
             StartDependentsOp>(op);
}

/// Returns whether the op is part of a planned step.
static bool isOfPlan(Operation *op) {
  return isa<StepOp, ResultsOp, BufferOp, CacheOp, RopeTableOp, BarrierOp,
             TaskInterface, TaskYieldOp, ReceivedRowsOp, SendRowsOp,
             RotationsOp, RotateOp, AddBiasOp, ToOperandOp>(op);
}

/// Returns whether the op describes ranks or what is between them.
static bool isOfRanks(Operation *op) {
  return isa<RankOp, ChannelOp, GroupOp, WorkerOp, ReceiveOp, SendOp>(op);
}

/// Returns whether the op splits work over the devices of a group.
static bool isOfGroups(Operation *op) {
  return isa<SliceOp, ShardOp, AllReduceOp, AllGatherOp>(op);
}

/// Returns whether the op says how a request uses a pipeline.
static bool isOfRequests(Operation *op) {
  return isa<PipelineOp, GenerateOp, LaunchOp, SpeculateOp, VerifyOp, CommitOp,
             EmitOp, EndOp>(op);
}

static bool isSluice(Operation *op) {
  return isa_and_nonnull<SluiceDialect>(op->getDialect()) && !isOfKernels(op) &&
         !isOfPlan(op);
}

static bool isLegalInModel(Operation *op) {
  return isSluice(op) && !isOfRanks(op) && !isOfRequests(op) &&
         !isOfGroups(op) && !isa<StageOp, ForwardOp, CheckpointOp>(op);
}

static bool isLegalInPipeline(Operation *op) {
  return isSluice(op) && !isOfRanks(op);
}

static bool isLegalInProgram(Operation *op) {
  return isSluice(op) &&
         !isa<StageOp, ForwardOp, ModelOp, ReturnOp, ShardOp>(op);
}

static bool isLegalInPlan(Operation *op) {
  return isReference(op) || isOfPlan(op) ||
         isa<RankOp, ChannelOp, SliceOp, ParamOp, DeploymentOp>(op) ||
         op->getParentOfType<StepOp>();
}

static bool isLegalInKernels(Operation *op) {
  return isReference(op) || isOfKernels(op) ||
         isa<RankOp, ChannelOp, SliceOp, StepOp>(op) ||
         op->getParentOfType<StepOp>() ||
         isa_and_nonnull<arith::ArithDialect, cf::ControlFlowDialect,
                         func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                         math::MathDialect, memref::MemRefDialect,
                         scf::SCFDialect, vector::VectorDialect>(
             op->getDialect());
}

//===----------------------------------------------------------------------===//
// Structure of a phase
//===----------------------------------------------------------------------===//

template <typename Op> static int64_t count(ModuleOp module) {
  auto ops = module.getOps<Op>();
  return std::distance(ops.begin(), ops.end());
}

static LogicalResult verifyTokenizers(ModuleOp module, int64_t maxCount) {
  if (count<TokenizerOp>(module) <= maxCount)
    return success();
  TokenizerOp extra =
      *std::next(module.getOps<TokenizerOp>().begin(), maxCount);
  return extra.emitOpError("is one too many: a model has at most one");
}

/// Checks that each `Frame` takes a batch if `fused`, else a chunk.
template <typename Frame>
static LogicalResult verifySteps(ModuleOp module, bool fused, StringRef phase) {
  for (auto frame : module.getOps<Frame>())
    if (isFused(frame) != fused)
      return frame.emitOpError("takes a ")
             << (fused ? "chunk" : "batch") << ", but in phase " << phase
             << " steps are "
             << (fused ? "fused by --sluice-fuse-decode" : "of one request");
  return success();
}

/// Checks that no model is split over several devices.
static LogicalResult verifyAlone(ModuleOp module, StringRef phase) {
  for (auto model : module.getOps<ModelOp>())
    if (model.getTensorParallel())
      return model.emitOpError("is tensor parallel, but in phase ")
             << phase << " a model is on one device";
  return success();
}

static LogicalResult verifyModel(ModuleOp module) {
  int64_t models = count<ModelOp>(module);
  if (models != 1 && models != 2)
    return module.emitError()
           << "phase model has one 'sluice.model', and one more where there is "
              "a draft, found "
           << models;
  if (failed(verifySteps<ModelOp>(module, /*fused=*/false, "model")) ||
      failed(verifyAlone(module, "model")))
    return failure();
  return verifyTokenizers(module, models);
}

/// Checks that there is one head and that it uses all pipelines.
static LogicalResult verifyHead(ModuleOp module, StringRef phase) {
  if (count<GenerateOp>(module) != 1)
    return module.emitError()
           << "phase " << phase << " has one 'sluice.generate', found "
           << count<GenerateOp>(module);
  GenerateOp generate = *module.getOps<GenerateOp>().begin();
  SpeculateOp speculate = generate.getSpeculate();
  for (Operation &op : *module.getBody()) {
    if (!isa<PipelineOp, ModelOp>(op))
      continue;
    StringRef name = SymbolTable::getSymbolName(&op);
    if (name != generate.getTarget() &&
        !(speculate && name == speculate.getDraft()))
      return op.emitOpError("is neither what the head launches nor its draft");
  }
  return verifyTokenizers(module, 1);
}

/// Returns the stages or workers of a pipeline, with all workers of each group.
static SmallVector<FlatSymbolRefAttr> namesOfStages(PipelineOp pipeline) {
  SmallVector<FlatSymbolRefAttr> names;
  for (auto name : pipeline.getStages().getAsRange<FlatSymbolRefAttr>()) {
    auto group = SymbolTable::lookupNearestSymbolFrom<GroupOp>(pipeline, name);
    if (group)
      llvm::append_range(names,
                         group.getWorkers().getAsRange<FlatSymbolRefAttr>());
    else
      names.push_back(name);
  }
  return names;
}

/// Checks that each stage or worker belongs to exactly one pipeline.
template <typename Stage> static LogicalResult verifyMembers(ModuleOp module) {
  DenseMap<StringRef, StringRef> owner;
  for (auto pipeline : module.getOps<PipelineOp>())
    for (auto name : namesOfStages(pipeline))
      if (!owner.try_emplace(name.getValue(), pipeline.getSymName()).second)
        return pipeline.emitOpError()
               << "has " << name << ", which @" << owner.lookup(name.getValue())
               << " has as well";
  for (auto stage : module.getOps<Stage>())
    if (!owner.contains(stage.getSymName()))
      return stage.emitOpError("belongs to no pipeline");
  return success();
}

static LogicalResult verifyPipeline(ModuleOp module) {
  if (failed(verifyHead(module, "pipeline")))
    return failure();
  GenerateOp generate = *module.getOps<GenerateOp>().begin();
  SpeculateOp speculate = generate.getSpeculate();
  if (generate.getRank() || generate.getLaunch().getVia() ||
      (speculate && speculate.getVia()))
    return generate.emitOpError("is at a rank or uses channels, which phase "
                                "pipeline does not have");
  if (speculate && !SymbolTable(module).lookup<ModelOp>(speculate.getDraft()))
    return speculate.emitOpError("has a draft that is no 'sluice.model'");
  if (failed(verifySteps<StageOp>(module, /*fused=*/true, "pipeline")) ||
      failed(verifySteps<ModelOp>(module, /*fused=*/true, "pipeline")) ||
      failed(verifyAlone(module, "pipeline")))
    return failure();
  return verifyMembers<StageOp>(module);
}

/// Checks that ranks are numbered in order, that the head is at the first one,
/// and that each rank has work.
static LogicalResult verifyRanks(ModuleOp module, Operation *head,
                                 StringRef headRank,
                                 const llvm::StringSet<> &used) {
  int64_t index = 0;
  for (auto rank : module.getOps<RankOp>()) {
    if (static_cast<int64_t>(rank.getIndex()) != index)
      return rank.emitOpError()
             << "has the index " << rank.getIndex() << ", expected " << index;
    if (index == 0 && rank.getSymName() != headRank)
      return head->emitOpError("is not at the first rank");
    if (!used.contains(rank.getSymName()))
      return rank.emitOpError("has no role: nothing is at it");
    ++index;
  }
  return success();
}

/// Checks that the draft is one worker at the head's rank.
static LogicalResult verifyDraft(ModuleOp module, GenerateOp generate) {
  SpeculateOp speculate = generate.getSpeculate();
  if (!speculate)
    return success();
  SymbolTable symbols(module);
  auto draft = symbols.lookup<PipelineOp>(speculate.getDraft());
  if (draft.getStages().size() != 1)
    return draft.emitOpError() << "has " << draft.getStages().size()
                               << " workers, but a draft has one";
  auto name = cast<FlatSymbolRefAttr>(draft.getStages()[0]);
  auto worker = symbols.lookup<WorkerOp>(name.getValue());
  if (!worker)
    return draft.emitOpError()
           << "has " << name << ", but a draft is a worker of no group";
  if (worker.getRank() != *generate.getRank())
    return worker.emitOpError("is the draft at ")
           << worker.getRankAttr() << ", but the head is at "
           << generate.getRankAttr();
  return success();
}

static LogicalResult verifyProgram(ModuleOp module) {
  if (failed(verifyHead(module, "program")))
    return failure();
  GenerateOp generate = *module.getOps<GenerateOp>().begin();
  SpeculateOp speculate = generate.getSpeculate();
  if (!generate.getRank() || !generate.getLaunch().getVia() ||
      (speculate && !speculate.getVia()))
    return generate.emitOpError("needs a rank and channels in phase program");
  llvm::StringSet<> used;
  used.insert(*generate.getRank());
  for (auto worker : module.getOps<WorkerOp>())
    used.insert(worker.getRank());
  if (failed(verifyRanks(module, generate, *generate.getRank(), used)) ||
      failed(verifyMembers<WorkerOp>(module)) ||
      failed(verifyDraft(module, generate)))
    return failure();
  return verifyChannels(module);
}

static LogicalResult verifyPlan(ModuleOp module) {
  if (count<StepOp>(module) == 0)
    return module.emitError("phase plan has a 'sluice.step', found none");
  for (auto step : module.getOps<StepOp>())
    if (!step.isAssigned())
      return step.emitOpError("has no arena: the passes that plan it have not "
                              "all been run");
  return verifyTokenizers(module, 1);
}

static LogicalResult verifyKernels(ModuleOp module) {
  // A program with a counterpart counts together with it.
  int64_t deployments = count<DeploymentOp>(module);
  int64_t programs =
      llvm::count_if(module.getOps<ProgramOp>(), [](ProgramOp program) {
        return !program.getCounterpart();
      });
  if (programs == 0)
    return module.emitError("phase kernels has a 'sluice.program', found none");
  if (deployments > 1 || (programs > 1 && deployments == 0))
    return module.emitError() << "phase kernels has one 'sluice.deployment' "
                                 "for several programs, found "
                              << deployments;
  llvm::StringMap<ProgramOp> steps;
  for (auto program : module.getOps<ProgramOp>())
    if (!steps.try_emplace(program.getStep(), program).second)
      return program.emitOpError()
             << "has the step " << program.getStepAttr() << ", as @"
             << steps[program.getStep()].getSymName() << " has";
  for (auto step : module.getOps<StepOp>())
    if (!steps.contains(step.getSymName()))
      return step.emitOpError("is the step of no sluice.program");
  for (auto deployment : module.getOps<DeploymentOp>())
    for (auto program : module.getOps<ProgramOp>()) {
      auto name = FlatSymbolRefAttr::get(program.getSymNameAttr());
      if (program.getCounterpart())
        continue;
      bool isMember =
          deployment.getGroups() &&
          llvm::any_of(
              deployment.getGroups()->getAsRange<ArrayAttr>(),
              [&](ArrayAttr group) { return llvm::is_contained(group, name); });
      if (!llvm::is_contained(deployment.getStages(), name) && !isMember &&
          deployment.getDraftAttr() != name)
        return program.emitOpError("has no place in the sluice.deployment");
    }
  for (auto deployment : module.getOps<DeploymentOp>()) {
    llvm::StringSet<> used;
    used.insert(deployment.getHead());
    for (auto program : module.getOps<ProgramOp>())
      if (program.getRank())
        used.insert(*program.getRank());
    if (failed(verifyRanks(module, deployment, deployment.getHead(), used)))
      return failure();
  }
  return verifyTokenizers(module, 1);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct PhaseRules {
  StringRef name;
  bool (*isLegal)(Operation *);
  LogicalResult (*verify)(ModuleOp);
};

constexpr PhaseRules phases[] = {
    {"model", isLegalInModel, verifyModel},
    {"pipeline", isLegalInPipeline, verifyPipeline},
    {"program", isLegalInProgram, verifyProgram},
    {"plan", isLegalInPlan, verifyPlan},
    {"kernels", isLegalInKernels, verifyKernels},
};

class VerifyPhasePass : public sluice::impl::VerifyPhaseBase<VerifyPhasePass> {
public:
  using VerifyPhaseBase::VerifyPhaseBase;

  void runOnOperation() override {
    const PhaseRules *rules = llvm::find_if(
        phases, [&](const PhaseRules &rules) { return rules.name == phase; });
    if (rules == std::end(phases)) {
      getOperation().emitError()
          << "no phase is named '" << phase
          << "': expected model, pipeline, program, plan or kernels";
      return signalPassFailure();
    }
    if (failed(verifyOps(*rules)) || failed(rules->verify(getOperation())))
      signalPassFailure();
  }

private:
  /// Checks that every op is legal.
  LogicalResult verifyOps(const PhaseRules &rules) {
    WalkResult result =
        getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
          if (op == getOperation())
            return WalkResult::advance();
          ++opsChecked;
          if (rules.isLegal(op))
            return WalkResult::advance();
          op->emitOpError() << "is not legal in phase " << phase;
          return WalkResult::interrupt();
        });
    return failure(result.wasInterrupted());
  }
};

} // namespace
