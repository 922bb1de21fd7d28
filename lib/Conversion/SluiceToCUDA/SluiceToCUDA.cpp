//===- SluiceToCUDA.cpp - the conversion of planned steps to GPU code -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts planned steps to code for GPUs, as SluiceToCPU does for CPUs. All
// decisions have been made before (lib/Planning), and the runtime makes the
// launches of a step from the plan itself. DeviceKernels makes the kernels of
// row loops, BlockEmitter their bodies, and GreedyTokens the kernels that find
// tokens.
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"
#include "GreedyTokens.h"
#include "lib/Conversion/SluiceToNative/Programs.h"
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
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "convert-sluice-to-cuda"

namespace sluice {
#define GEN_PASS_DEF_CONVERTSLUICETOCUDA
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::native;
using namespace sluice::tocuda;

/// Returns the chips' targets; none for the emulator.
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

/// Returns the steps that are planned for a GPU and belong to no program yet.
static SmallVector<StepOp> listUnconverted(ModuleOp module) {
  llvm::StringSet<> converted;
  for (ProgramOp program : module.getOps<ProgramOp>())
    converted.insert(program.getStep());
  return llvm::filter_to_vector(module.getOps<StepOp>(), [&](StepOp step) {
    return isa<CudaTargetAttr>(step.getTarget()) &&
           !converted.contains(step.getSymName());
  });
}

/// Fails if outputs are selected again after a checkpoint. The device numbers
/// outputs once: rows that leave at a later checkpoint stay among them.
static LogicalResult checkOutputs(StepOp step) {
  bool isNumbered = false, isOver = false;
  for (TaskInterface task : step.getBody().getOps<TaskInterface>()) {
    isOver |= isNumbered && isa<TaskCheckpointOp>(task.getOperation());
    auto loop = dyn_cast<TaskRowsOp>(task.getOperation());
    if (!loop)
      continue;
    for (Operation &op : loop.getRowOps()) {
      if (!isa<SelectOutputsOp>(op))
        continue;
      if (isOver)
        return op.emitError(
            "selects outputs behind a checkpoint, and so do ops "
            "before it: there is no code for that on CUDA");
      isNumbered = true;
    }
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
    SmallVector<StepOp> steps = listUnconverted(module);
    if (steps.empty())
      return success();

    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    auto kernels = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    if (!targets->empty())
      kernels.setTargetsAttr(b.getArrayAttr(*targets));
    SymbolTable symbols(module);
    // The symbol table gives it another name if the name is taken.
    symbols.remove(kernels);
    symbols.insert(kernels);
    KernelModule made(kernels);
    for (StepOp step : steps)
      if (failed(convert(step, symbols, made)))
        return failure();
    generatedKernels += made.size();
    return success();
  }

  LogicalResult convert(StepOp step, SymbolTable &symbols,
                        KernelModule &kernels) {
    if (failed(checkConvertible(step, symbols)) || failed(checkOutputs(step)))
      return failure();
    unsigned before = kernels.size();
    for (Operation &op : step.getBody().front()) {
      if (auto loop = dyn_cast<TaskRowsOp>(op); loop && !loop.getRuntime())
        loop.setKernelAttr(getRowKernel(kernels, loop));
      else if (auto sample = dyn_cast<TaskSampleOp>(op))
        sample.setKernelsAttr(
            ArrayAttr::get(op.getContext(), getGreedyKernels(kernels, sample)));
    }
    count(step, kernels.size() - before);
    createProgram(step, CpuLevelAttr(), symbols);
    return success();
  }

  /// Reports what was done, as statistics and as a remark.
  void count(StepOp step, unsigned kernels) {
    unsigned launched = 0, called = 0, fused = 0, points = 0;
    for (TaskInterface task : step.getBody().getOps<TaskInterface>()) {
      auto loop = dyn_cast<TaskRowsOp>(task.getOperation());
      if (loop && !loop.getRuntime()) {
        ++launched;
        fused += llvm::count_if(loop.getRowOps(), [](Operation &op) {
          return !isa<ToOperandOp, RotationsOp>(op);
        });
      } else if (isa<TaskCheckpointOp>(task.getOperation())) {
        ++points;
      } else if (auto sample = dyn_cast<TaskSampleOp>(task.getOperation())) {
        launched += sample.getKernels()->size();
      } else {
        ++called;
      }
    }
    ++programs;
    generatedLaunches += launched;
    fusedOps += fused;
    calls += called;
    checkpoints += points;
    remark::analysis(step.getLoc(),
                     remark::RemarkOpts::name("step").category(DEBUG_TYPE))
        << remark::metric("generated-launches", launched)
        << remark::metric("generated-kernels", kernels)
        << remark::metric("ops-fused-into-kernels", fused)
        << remark::metric("runtime-calls", called)
        << remark::metric("checkpoints", points);
  }
};

} // namespace
