//===- SluiceToCPU.cpp - from a model to code for a CPU -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversion runs in five stages, each in a file of its own:
//
//   StepGraph        flattens the model to nodes over buffers
//   StepSchedule     makes row loops and calls of the nodes
//   BarrierPlacement says between which of them threads must meet
//   ArenaPlan        gives the buffers their places
//   StepEmitter      writes the code: RowKernels the row loops, RuntimeCalls
//                    the calls
//
// All decisions are made on whole steps before any code is written, which is
// why this is not a set of rewrite patterns.
//
//===----------------------------------------------------------------------===//

#include "ArenaPlan.h"
#include "BarrierPlacement.h"
#include "StepEmitter.h"
#include "StepGraph.h"
#include "StepSchedule.h"
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

#define DEBUG_TYPE "convert-sluice-to-cpu"

namespace sluice {
#define GEN_PASS_DEF_CONVERTSLUICETOCPU
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocpu;

/// The intervals in which each buffer with memory in a domain is in use.
static SmallVector<Lifetime>
getLifetimes(const StepGraph &graph, ArrayRef<SmallVector<Access>> accesses,
             ArrayRef<unsigned> intervals, Domain domain) {
  SmallVector<Lifetime> lifetimes(graph.buffers.size());
  for (auto [task, interval] : llvm::zip_equal(accesses, intervals))
    for (const Access &access : task) {
      const Buffer &buffer = graph.buffers[access.buffer];
      Lifetime &lifetime = lifetimes[access.buffer];
      if (buffer.domain != domain)
        continue;
      if (lifetime.floatsPerRow == 0)
        lifetime.first = interval;
      lifetime.floatsPerRow = buffer.getFloatsPerRow();
      lifetime.last = interval;
    }
  // Read when the step is over.
  lifetimes[graph.logits].last = intervals.back();
  return lifetimes;
}

/// Puts the description of the emitted code where the model was.
static void replaceModel(ModelOp model, CpuLevel cpu, const StepGraph &graph,
                         const StepLayout &layout, const WeightUses &weights) {
  OpBuilder b(model);
  ProgramOp::create(
      b, model.getLoc(), model.getSymNameAttr(),
      FlatSymbolRefAttr::get(b.getContext(), RuntimeCalls::stepName),
      CpuLevelAttr::get(b.getContext(), cpu), model.getArchitectureAttr(),
      model.getModelNameAttr(), model.getVocabSizeAttr(),
      model.getContextLengthAttr(),
      b.getDenseI64ArrayAttr(model.getEosTokens()),
      b.getI64IntegerAttr(graph.hiddenSize), b.getI64IntegerAttr(graph.layers),
      b.getI64IntegerAttr(layout.rows.floatsPerRow),
      b.getI64IntegerAttr(layout.outputs.floatsPerRow),
      b.getI64IntegerAttr(layout.outputs.offsets[graph.logits]),
      b.getTypeArrayAttr(graph.caches), b.getArrayAttr(graph.ropeTables),
      b.getArrayAttr(weights.getUses()));
  model.erase();
}

namespace {

struct ConvertSluiceToCPU
    : sluice::impl::ConvertSluiceToCPUBase<ConvertSluiceToCPU> {
  using ConvertSluiceToCPUBase::ConvertSluiceToCPUBase;

  void runOnOperation() override {
    FailureOr<ModelOp> model = findModel();
    if (failed(model) || failed(convert(*model)))
      signalPassFailure();
  }

private:
  /// The module's one model, in a module that has room for its code.
  FailureOr<ModelOp> findModel() {
    auto models = llvm::to_vector(getOperation().getOps<ModelOp>());
    if (models.size() != 1)
      return getOperation().emitError("expected one sluice.model, found ")
             << models.size();
    Operation *taken = getOperation().lookupSymbol(RuntimeCalls::stepName);
    if (taken)
      return taken->emitError("takes the name of the step function");
    return models.front();
  }

  LogicalResult convert(ModelOp model) {
    FailureOr<StepGraph> graph = buildStepGraph(model);
    if (failed(graph))
      return failure();
    StepSchedule schedule = scheduleStep(*graph);
    SmallVector<SmallVector<Access>> accesses;
    for (const Task &task : schedule.tasks)
      accesses.push_back(schedule.getAccesses(task));
    SmallVector<unsigned> intervals = placeBarriers(accesses);

    FailureOr<ArenaPlan> rows =
        planArena(getLifetimes(*graph, accesses, intervals, Domain::Rows));
    FailureOr<ArenaPlan> outputs =
        planArena(getLifetimes(*graph, accesses, intervals, Domain::Outputs));
    if (failed(rows) || failed(outputs))
      return model.emitError("has rows too wide to be held in memory");
    StepLayout layout{std::move(*rows), std::move(*outputs)};

    SymbolTable symbols(getOperation());
    int64_t lanes = cpu == CpuLevel::Avx2 ? 8 : 16;
    StepEmitter emitter(symbols, *graph, schedule, layout, lanes);
    emitter.emit(model.getLoc(), intervals);
    count(model.getLoc(), schedule, intervals.back(), emitter.getKernelCount());
    replaceModel(model, cpu, *graph, layout, emitter.getWeights());
    return success();
  }

  /// Says what was done, as statistics and as a remark.
  void count(Location loc, const StepSchedule &schedule, unsigned barrierCount,
             unsigned kernelCount) {
    unsigned loops = 0, calls = 0, fused = 0;
    for (const Task &task : schedule.tasks) {
      if (task.isRowLoop()) {
        ++loops;
        fused += task.nodes.size();
      } else {
        ++calls;
      }
    }
    rowLoops += loops;
    fusedOps += fused;
    rowKernels += kernelCount;
    microKernelCalls += calls;
    barriers += barrierCount;
    remark::analysis(loc, remark::RemarkOpts::name("step").category(DEBUG_TYPE))
        << remark::metric("row-loops", loops)
        << remark::metric("ops-fused-into-row-loops", fused)
        << remark::metric("row-kernels", kernelCount)
        << remark::metric("micro-kernel-calls", calls)
        << remark::metric("barriers", barrierCount);
  }
};

} // namespace
