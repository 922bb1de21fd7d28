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
#include "lib/Conversion/StepPlanning/StepLayout.h"

namespace sluice::tocpu {

using namespace planning;

/// What the programs of a module have in common.
struct SharedCode {
  explicit SharedCode(mlir::ModuleOp module)
      : symbols(module), attention(symbols) {}

  mlir::SymbolTable symbols;
  KernelTable kernels;
  AttentionParameters attention;
};

/// Emits a step function: the tasks in their order, with barriers where
/// intervals change. At a checkpoint its one block ends, and where no row lives
/// the function returns; the code behind it counts rows anew.
class StepEmitter {
public:
  StepEmitter(SharedCode &shared, const StepGraph &graph,
              const StepSchedule &schedule, const StepLayout &layout,
              int64_t lanes)
      : symbols(shared.symbols), graph(graph), layout(layout), runtime(symbols),
        kernels(symbols, shared.kernels, graph, schedule, runtime, weights,
                lanes),
        attention(shared.attention), schedule(schedule) {}

  /// Emits the function `name`; the barriers that it has.
  unsigned emit(mlir::Location loc, llvm::StringRef name,
                llvm::ArrayRef<unsigned> intervals);

  const WeightUses &getWeights() const { return weights; }

private:
  mlir::func::FuncOp createFunction(mlir::Location loc, llvm::StringRef name);
  void emitCheckpoint(mlir::ImplicitLocOpBuilder &b, const Node &node);
  void moveRows(mlir::ImplicitLocOpBuilder &b, const Node &node);
  void emitRowLoop(mlir::ImplicitLocOpBuilder &b, const Task &task);
  void emitCall(mlir::ImplicitLocOpBuilder &b, const Node &node);
  mlir::Value getPointer(mlir::ImplicitLocOpBuilder &b, unsigned buffer);
  mlir::Value getVector(mlir::ImplicitLocOpBuilder &b, int64_t weight);
  mlir::Value getArgument(mlir::ImplicitLocOpBuilder &b,
                          KernelArgument argument);
  /// This thread's share of the rows of a domain, as two indices.
  std::pair<mlir::Value, mlir::Value> getShare(mlir::ImplicitLocOpBuilder &b,
                                               Domain domain);

  mlir::SymbolTable &symbols;
  const StepGraph &graph;
  const StepLayout &layout;
  RuntimeCalls runtime;
  WeightUses weights;
  RowKernels kernels;
  AttentionParameters &attention;
  const StepSchedule &schedule;
  StepArguments step;
  mlir::Block *exit = nullptr; // where a step without living rows ends
  // Computed once: each block dominates those behind it.
  llvm::DenseMap<unsigned, mlir::Value> pointers; // of buffers
  llvm::DenseMap<int64_t, mlir::Value> vectors;   // of weights
  /// Computed once between checkpoints.
  llvm::DenseMap<Domain, std::pair<mlir::Value, mlir::Value>> shares;
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_STEPEMITTER_H
