//===- SluiceToCPU.cpp - from a planned step to code for a CPU ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All decisions have been made when this pass begins (lib/Planning): it writes
// the code of the tasks, StepEmitter the step function, RowKernels the row
// loops and RuntimeCalls the calls.
//
//===----------------------------------------------------------------------===//

#include "StepEmitter.h"
#include "lib/Conversion/StepPlanning/Programs.h"
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
    CpuModuleCode shared(module);
    for (StepOp step : llvm::make_early_inc_range(module.getOps<StepOp>()))
      if (auto cpu = dyn_cast<CpuTargetAttr>(step.getTarget()))
        if (failed(convert(step, cpu.getLevel(), shared)))
          return failure();
    return success();
  }

  LogicalResult convert(StepOp step, CpuLevel cpu, CpuModuleCode &shared) {
    FailureOr<std::string> name = nameCode(step, shared.symbols);
    if (failed(name))
      return failure();
    if (!step.isAssigned())
      return step.emitError("has no arena yet: --sluice-plan comes first");
    int64_t lanes = cpu == CpuLevel::Avx2 ? 8 : 16;
    unsigned kernels = shared.kernels.size();
    StepEmitter emitter(shared, step, lanes);
    emitter.emit(*name);
    count(step, shared.kernels.size() - kernels);
    ProgramOp program =
        createProgram(step, *name, CpuLevelAttr::get(step.getContext(), cpu),
                      emitter.getWeights().getUses());
    shared.symbols.erase(step);
    shared.symbols.insert(program);
    return success();
  }

  /// Says what was done, as statistics and as a remark.
  void count(StepOp step, unsigned kernelCount) {
    unsigned loops = 0, calls = 0, fused = 0, points = 0, waits = 0;
    for (Operation &op : step.getBody().front()) {
      if (auto loop = dyn_cast<TaskRowsOp>(op)) {
        ++loops;
        fused += llvm::range_size(loop.getRowOps());
      } else if (isa<TaskCheckpointOp>(op)) {
        ++points;
      } else if (isa<BarrierOp>(op)) {
        ++waits;
      } else if (isa<TaskInterface>(op)) {
        ++calls;
      }
    }
    ++programs;
    rowLoops += loops;
    fusedOps += fused;
    rowKernels += kernelCount;
    microKernelCalls += calls;
    barriers += waits;
    checkpoints += points;
    remark::analysis(step.getLoc(),
                     remark::RemarkOpts::name("step").category(DEBUG_TYPE))
        << remark::metric("row-loops", loops)
        << remark::metric("ops-fused-into-row-loops", fused)
        << remark::metric("row-kernels", kernelCount)
        << remark::metric("micro-kernel-calls", calls)
        << remark::metric("barriers", waits)
        << remark::metric("checkpoints", points);
  }
};

} // namespace
