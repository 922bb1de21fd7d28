//===- SluiceToCPU.cpp - from a model to code for a CPU -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversion runs in five stages, each in a file of its own; the first four
// are those of every target (lib/Conversion/StepPlanning):
//
//   StepGraph        flattens the model to nodes over buffers
//   StepSchedule     makes row loops and calls of the nodes
//   BarrierPlacement says between which of them threads must meet
//   StepLayout       gives the buffers their places (ArenaPlan)
//   StepEmitter      writes the code: RowKernels the row loops, RuntimeCalls
//                    the calls
//
// All decisions are made on whole steps before any code is written, which is
// why this is not a set of rewrite patterns.
//
//===----------------------------------------------------------------------===//

#include "StepEmitter.h"
#include "lib/Conversion/StepPlanning/BarrierPlacement.h"
#include "lib/Conversion/StepPlanning/Programs.h"
#include "lib/Conversion/StepPlanning/StepGraph.h"
#include "lib/Conversion/StepPlanning/StepLayout.h"
#include "lib/Conversion/StepPlanning/StepSchedule.h"
#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/device/cpu/linear/PackedWeight.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "convert-sluice-to-cpu"

namespace sluice {
#define GEN_PASS_DEF_CONVERTSLUICETOCPU
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocpu;

namespace {

/// What the runtime for CPUs asks of a step
/// (runtime/device/cpu/CpuProgramABI.h).
struct CPURules : StepTarget {
  StringRef getName() const override { return "a CPU"; }
  FailureOr<std::optional<OperandRecord>>
  getOperand(LinearOp op, int64_t features) const override {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    if (!sluice::cpu::takesQuantizedRows(
            sluice::cpu::packedKind(toFormat(getElementFormat(weight)))))
      return std::optional<OperandRecord>();
    return std::optional<OperandRecord>(
        {/*format=*/0, SLUICE_QUANTIZED_ROW_FLOATS(features)});
  }
  bool computesRopeTables() const override { return true; }
  bool attendsToStep() const override { return true; }
  bool isCarried(const Buffer &buffer) const override {
    return buffer.kind != Buffer::Kind::Cache;
  }
  bool isInRowLoops(Node::Kind kind) const override {
    return kind < Node::Kind::Linear;
  }
  bool sumsOneWidth() const override { return false; }
};

} // namespace

namespace {

struct ConvertSluiceToCPU
    : sluice::impl::ConvertSluiceToCPUBase<ConvertSluiceToCPU> {
  using ConvertSluiceToCPUBase::ConvertSluiceToCPUBase;

  void runOnOperation() override {
    if (failed(convertModule(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult convertModule(ModuleOp module) {
    for (Operation &op : *module.getBody())
      if (StringAttr name = SymbolTable::getSymbolName(&op);
          name && name.getValue().starts_with("sluice_"))
        return op.emitError("'")
               << name.getValue()
               << "' could be a function of the runtime, whose names begin "
                  "with 'sluice_'";
    FailureOr<SmallVector<ProgramSource>> sources = findPrograms(module);
    if (failed(sources))
      return failure();
    FailureOr<DeploymentSource> deployment = findDeployment(module);
    if (failed(deployment))
      return failure();
    SharedCode shared(module);
    for (const ProgramSource &source : *sources)
      if (failed(convert(source, shared)))
        return failure();
    lowerDeployment(module, *deployment);
    for (const ProgramSource &source : *sources)
      source.frame->erase();
    return success();
  }

  LogicalResult convert(const ProgramSource &source, SharedCode &shared) {
    std::string step = SymbolTable::getSymbolName(source.frame).str() + "_step";
    if (Operation *taken = shared.symbols.lookup(step))
      return taken->emitError("takes the name of a step function");
    if (failed(requireFused(source.frame)))
      return failure();
    CPURules target;
    FailureOr<StepGraph> graph = buildStepGraph(source.frame, target);
    if (failed(graph))
      return failure();
    StepSchedule schedule = scheduleStep(*graph, target);
    SmallVector<SmallVector<Access>> accesses;
    llvm::BitVector checkpoints;
    for (const Task &task : schedule.tasks) {
      accesses.push_back(schedule.getAccesses(task));
      checkpoints.push_back(task.isCheckpoint());
    }
    SmallVector<unsigned> intervals = placeBarriers(accesses, checkpoints);

    FailureOr<StepLayout> layout = planStep(*graph, accesses, intervals);
    if (failed(layout))
      return source.frame->emitError("has rows too wide to be held in memory");

    int64_t lanes = cpu == CpuLevel::Avx2 ? 8 : 16;
    unsigned kernels = shared.kernels.size();
    StepEmitter emitter(shared, *graph, schedule, *layout, lanes);
    unsigned barrierCount =
        emitter.emit(source.frame->getLoc(), step, intervals);
    count(source.frame->getLoc(), schedule, barrierCount,
          shared.kernels.size() - kernels);
    createProgram(source,
                  {.name = SymbolTable::getSymbolName(source.frame),
                   .step = step,
                   .cpu = cpu},
                  *graph, *layout, emitter.getWeights().getUses());
    return success();
  }

  /// Says what was done, as statistics and as a remark.
  void count(Location loc, const StepSchedule &schedule, unsigned barrierCount,
             unsigned kernelCount) {
    unsigned loops = 0, calls = 0, fused = 0, points = 0;
    for (const Task &task : schedule.tasks) {
      if (task.isRowLoop()) {
        ++loops;
        fused += task.nodes.size();
      } else if (task.isCheckpoint()) {
        ++points;
      } else {
        ++calls;
      }
    }
    ++programs;
    rowLoops += loops;
    fusedOps += fused;
    rowKernels += kernelCount;
    microKernelCalls += calls;
    barriers += barrierCount;
    checkpoints += points;
    remark::analysis(loc, remark::RemarkOpts::name("step").category(DEBUG_TYPE))
        << remark::metric("row-loops", loops)
        << remark::metric("ops-fused-into-row-loops", fused)
        << remark::metric("row-kernels", kernelCount)
        << remark::metric("micro-kernel-calls", calls)
        << remark::metric("barriers", barrierCount)
        << remark::metric("checkpoints", points);
  }
};

} // namespace
