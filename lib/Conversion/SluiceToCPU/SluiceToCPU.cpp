//===- SluiceToCPU.cpp - the conversion of planned steps to CPU code ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All decisions have been made before this pass (lib/Planning), and the runtime
// runs the tasks of a step from the plan itself. The pass emits the code of the
// row loops (RowKernels), adds its names to the plan, and numbers the weights.
//
//===----------------------------------------------------------------------===//

#include "RowKernels.h"
#include "lib/Conversion/SluiceToNative/Programs.h"
#include "sluice/Conversion/Passes.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "convert-sluice-to-cpu"

namespace sluice {
#define GEN_PASS_DEF_CONVERTSLUICETOCPU
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::native;
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
    SymbolTable symbols(module);
    RowKernels kernels(symbols);
    llvm::StringSet<> converted;
    for (ProgramOp program : module.getOps<ProgramOp>())
      converted.insert(program.getStep());
    for (StepOp step : llvm::make_early_inc_range(module.getOps<StepOp>()))
      if (auto cpu = dyn_cast<CpuTargetAttr>(step.getTarget());
          cpu && !converted.contains(step.getSymName()))
        if (failed(convert(step, cpu.getLevel(), symbols, kernels)))
          return failure();
    return success();
  }

  LogicalResult convert(StepOp step, CpuLevel cpu, SymbolTable &symbols,
                        RowKernels &kernels) {
    if (failed(checkConvertible(step, symbols)))
      return failure();
    MLIRContext *context = step.getContext();
    int64_t lanes = cpu == CpuLevel::Avx2 ? 8 : 16;
    for (TaskRowsOp loop : step.getBody().getOps<TaskRowsOp>())
      loop.setKernelAttr(KernelAttr::get(
          context, FlatSymbolRefAttr::get(kernels.get(loop, lanes)), 0, 0));
    count(step);
    createProgram(step, CpuLevelAttr::get(context, cpu), symbols);
    return success();
  }

  /// Says what was done, as statistics and as a remark.
  void count(StepOp step) {
    unsigned loops = 0, calls = 0, fused = 0, points = 0, waits = 0;
    llvm::StringSet<> kernels;
    for (Operation &op : step.getBody().front()) {
      if (auto loop = dyn_cast<TaskRowsOp>(op)) {
        ++loops;
        kernels.insert(loop.getKernelAttr().getName());
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
    rowKernels += kernels.size();
    microKernelTasks += calls;
    barriers += waits;
    checkpoints += points;
    remark::analysis(step.getLoc(),
                     remark::RemarkOpts::name("step").category(DEBUG_TYPE))
        << remark::metric("row-loops", loops)
        << remark::metric("ops-fused-into-row-loops", fused)
        << remark::metric("row-kernels", kernels.size())
        << remark::metric("micro-kernel-tasks", calls)
        << remark::metric("barriers", waits)
        << remark::metric("checkpoints", points);
  }
};

} // namespace
