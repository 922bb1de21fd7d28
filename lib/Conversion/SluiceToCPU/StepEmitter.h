//===- StepEmitter.h - the step function ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_STEPEMITTER_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_STEPEMITTER_H

#include "RowKernels.h"
#include "lib/Conversion/StepPlanning/AttentionParameters.h"

namespace sluice::tocpu {

using namespace planning;

/// What the programs of a module have in common.
struct CpuModuleCode {
  explicit CpuModuleCode(mlir::ModuleOp module)
      : symbols(module), attention(symbols) {}

  mlir::SymbolTable symbols;
  KernelTable kernels;
  AttentionParameters attention;
};

/// Emits a step function: the tasks in their order, with the barriers between
/// them. At a checkpoint its one block ends, and where no row lives the
/// function returns; the code behind it counts rows anew.
class StepEmitter {
public:
  StepEmitter(CpuModuleCode &shared, ir::StepOp planned, int64_t lanes)
      : symbols(shared.symbols), planned(planned), runtime(symbols),
        kernels(symbols, shared.kernels, runtime, weights, lanes),
        attention(shared.attention) {}

  /// Emits the function `name`.
  void emit(llvm::StringRef name);

  const WeightUses &getWeights() const { return weights; }

private:
  mlir::func::FuncOp createFunction(mlir::Location loc, llvm::StringRef name);
  void emitTask(mlir::ImplicitLocOpBuilder &b, mlir::Operation *task);
  void emitCheckpoint(mlir::ImplicitLocOpBuilder &b, ir::TaskCheckpointOp task);
  void moveRows(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange buffers);
  void emitRowLoop(mlir::ImplicitLocOpBuilder &b, ir::TaskRowsOp loop);
  void emitProduct(mlir::ImplicitLocOpBuilder &b, ir::TaskProductOp task);
  void emitAppend(mlir::ImplicitLocOpBuilder &b, ir::TaskAppendOp task);
  void emitAttend(mlir::ImplicitLocOpBuilder &b, ir::TaskAttendOp task);
  void emitExchange(mlir::ImplicitLocOpBuilder &b, ir::TaskExchangeOp task);
  mlir::Value getPointer(mlir::ImplicitLocOpBuilder &b, mlir::Value buffer);
  mlir::Value getVector(mlir::ImplicitLocOpBuilder &b, int64_t weight);
  mlir::Value getArgument(mlir::ImplicitLocOpBuilder &b,
                          KernelArgument argument);
  mlir::Value getCache(mlir::ImplicitLocOpBuilder &b, mlir::Value cache);
  mlir::Value getRows(ir::ValueDomain domain) const {
    return domain == ir::ValueDomain::Rows ? step.rows : step.outputs;
  }
  /// This thread's share of the rows of a domain, as two indices.
  std::pair<mlir::Value, mlir::Value> getShare(mlir::ImplicitLocOpBuilder &b,
                                               ir::ValueDomain domain);

  mlir::SymbolTable &symbols;
  ir::StepOp planned;
  RuntimeCalls runtime;
  WeightUses weights;
  RowKernels kernels;
  AttentionParameters &attention;
  StepArguments step;
  mlir::Block *exit = nullptr; // where a step without living rows ends
  // Computed once: each block dominates those behind it.
  llvm::DenseMap<mlir::Value, mlir::Value> pointers; // of buffers
  llvm::DenseMap<int64_t, mlir::Value> vectors;      // of weights
  /// Computed once between checkpoints.
  llvm::DenseMap<ir::ValueDomain, std::pair<mlir::Value, mlir::Value>> shares;
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_STEPEMITTER_H
