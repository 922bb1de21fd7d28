//===- SluiceToCUDA.cpp - from a model to work of a GPU -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The stages of SluiceToCPU, for another machine:
//
//   StepGraph    flattens the model to nodes over buffers (DeviceRules); sums
//                that products can add go into them, and gates, and operand
//                rows into the loops that make the rows
//   StepSchedule makes row loops and calls of the nodes: each is a launch, and
//                so an interval of the arena (StepLayout)
//   GraphEmitter writes the list of launches; DeviceKernels the kernels of row
//                loops, whose bodies are BlockEmitter's
//
//===----------------------------------------------------------------------===//

#include "DeviceRules.h"
#include "GraphEmitter.h"
#include "HeldRows.h"
#include "lib/Conversion/StepPlanning/Programs.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "sluice/Conversion/CudaChips.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"

#include <numeric>

#define DEBUG_TYPE "convert-sluice-to-cuda"

namespace sluice {
#define GEN_PASS_DEF_CONVERTSLUICETOCUDA
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocuda;

/// The chips' names as targets; nothing for the emulator.
static FailureOr<SmallVector<Attribute>>
getTargets(Operation *op, ArrayRef<std::string> names) {
  if (sluice::Status status = sluice::checkCudaChips(names); !status.ok())
    return op->emitError() << status.message();
  SmallVector<Attribute> targets;
  for (const std::string &name : names)
    if (name != sluice::cudaEmulator)
      targets.push_back(sluice::getCudaTarget(op->getContext(), name));
  return targets;
}

/// What the runtime's kernels do not take.
static LogicalResult checkAttention(Operation *frame) {
  WalkResult result = frame->walk([](AttendOp op) -> WalkResult {
    int64_t dim = cast<CacheType>(op.getCache().getType()).getHeadDim();
    if (dim <= 256 && sluice::cuda::cacheDim(static_cast<int32_t>(dim)) != 0)
      return success();
    return op.emitError("has heads of ")
           << dim << " features, for which there is no kernel on CUDA";
  });
  return failure(result.wasInterrupted());
}

/// On a GPU outputs are numbered once: which row each of them is, is known up
/// to the next checkpoint.
static LogicalResult checkOutputs(const StepGraph &graph) {
  bool isNumbered = false, isOver = false;
  for (const Node &node : graph.nodes) {
    isOver |= isNumbered && node.kind == Node::Kind::Checkpoint;
    if (node.kind != Node::Kind::SelectOutputs)
      continue;
    if (isOver)
      return node.op->emitError(
          "selects outputs behind a checkpoint, and so do ops before it: there "
          "is no code for that on CUDA");
    isNumbered = true;
  }
  return success();
}

namespace {

struct ConvertSluiceToCUDA
    : sluice::impl::ConvertSluiceToCUDABase<ConvertSluiceToCUDA> {
  using ConvertSluiceToCUDABase::ConvertSluiceToCUDABase;

  void runOnOperation() override {
    if (failed(convertModule(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult convertModule(ModuleOp module) {
    FailureOr<SmallVector<Attribute>> targets = getTargets(
        module, arch.empty() ? sluice::getDefaultCudaChips() : *arch);
    if (failed(targets))
      return failure();
    FailureOr<SmallVector<ProgramSource>> sources = findPrograms(module);
    if (failed(sources))
      return failure();
    FailureOr<DeploymentSource> deployment = findDeployment(module);
    if (failed(deployment))
      return failure();

    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    auto kernels = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    if (!targets->empty())
      kernels.setTargetsAttr(b.getArrayAttr(*targets));
    SharedCode shared(module, kernels);
    // Another symbol may have the name.
    shared.symbols.remove(kernels);
    shared.symbols.insert(kernels);
    for (const ProgramSource &source : *sources)
      if (failed(convert(source, shared)))
        return failure();
    generatedKernels += shared.kernels.size();
    if (besideCpu)
      return success();
    lowerDeployment(module, *deployment);
    for (const ProgramSource &source : *sources)
      source.frame->erase();
    return success();
  }

  LogicalResult convert(const ProgramSource &source, SharedCode &shared) {
    StringAttr frame = SymbolTable::getSymbolName(source.frame);
    std::string name = frame.str() + (besideCpu ? ".cuda" : "");
    std::string step = name + "_step";
    for (const std::string &wanted : {step, name})
      if (Operation *taken = shared.symbols.lookup(wanted);
          taken && taken != source.frame)
        return taken->emitError("takes the name of a step or program");
    if (failed(requireFused(source.frame)) ||
        failed(checkAttention(source.frame)))
      return failure();
    DeviceRules target;
    FailureOr<StepGraph> graph = buildStepGraph(source.frame, target);
    if (failed(graph) || failed(checkOutputs(*graph)))
      return failure();
    unsigned gates = fuseGates(*graph);
    unsigned residuals = fuseResiduals(*graph);
    unsigned operands = joinOperands(*graph);
    StepSchedule schedule = scheduleStep(*graph, target);
    keepInRegisters(*graph, schedule);
    SmallVector<SmallVector<Access>> accesses;
    for (const Task &task : schedule.tasks)
      accesses.push_back(schedule.getAccesses(task));
    std::optional<unsigned> greedyParts = addGreedyParts(*graph);
    if (greedyParts)
      accesses.push_back({{*graph->logits, Share::Whole, false},
                          {*greedyParts, Share::Whole, true}});
    // Each task is a launch or more, after all before it.
    SmallVector<unsigned> intervals(accesses.size());
    std::iota(intervals.begin(), intervals.end(), 0);
    FailureOr<StepLayout> layout = planStep(*graph, accesses, intervals);
    if (failed(layout))
      return source.frame->emitError("has rows too wide to be held in memory");

    unsigned kernels = shared.kernels.size();
    GraphEmitter emitter(shared, *graph, schedule, *layout, greedyParts);
    emitter.emit(source.frame->getLoc(), step);
    fusedGates += gates;
    fusedResiduals += residuals;
    joinedOperands += operands;
    count(source.frame->getLoc(), schedule, emitter.getLaunches(),
          shared.kernels.size() - kernels);
    remark::analysis(source.frame->getLoc(),
                     remark::RemarkOpts::name("fusion").category(DEBUG_TYPE))
        << remark::metric("gates-fused-into-products", gates)
        << remark::metric("operands-made-by-kernels", operands)
        << remark::metric("residuals-fused-into-products", residuals);
    FlatSymbolRefAttr counterpart =
        besideCpu ? FlatSymbolRefAttr::get(frame) : FlatSymbolRefAttr();
    createProgram(source,
                  {.name = name,
                   .step = step,
                   .cpu = std::nullopt,
                   .counterpart = counterpart},
                  *graph, *layout, emitter.getWeights().getUses());
    return success();
  }

  /// Says what was done, as statistics and as a remark.
  void count(Location loc, const StepSchedule &schedule, unsigned launched,
             unsigned kernels) {
    unsigned called = 0, fused = 0, points = 0;
    for (const Task &task : schedule.tasks) {
      if (task.isRowLoop())
        fused += llvm::count_if(task.nodes, [](const Node *node) {
          return node->kind != Node::Kind::RowOperand;
        });
      else if (task.isCheckpoint())
        ++points;
      else
        ++called;
    }
    ++programs;
    generatedLaunches += launched;
    fusedOps += fused;
    calls += called;
    checkpoints += points;
    remark::analysis(loc, remark::RemarkOpts::name("step").category(DEBUG_TYPE))
        << remark::metric("generated-launches", launched)
        << remark::metric("generated-kernels", kernels)
        << remark::metric("ops-fused-into-kernels", fused)
        << remark::metric("runtime-calls", called)
        << remark::metric("checkpoints", points);
  }
};

} // namespace
