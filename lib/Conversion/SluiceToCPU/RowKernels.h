//===- RowKernels.h - functions for row loops -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row loop is a private function that gets its buffers and weights as
// pointers, then the range of rows. Layers repeat each other, so row loops that
// differ in nothing but what they are called with share a function: the code of
// a model of eighty layers is that of three or four, and stages of one model
// share theirs.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWKERNELS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWKERNELS_H

#include "RuntimeCalls.h"
#include "lib/Conversion/StepPlanning/WeightUses.h"

#include "llvm/ADT/StringMap.h"

namespace sluice::tocpu {

using namespace planning;

/// What a row kernel is called with, before the range of rows.
struct KernelArgument {
  enum class Kind {
    Step,   // the SluiceStep
    Buffer, // the start of `buffer`
    Vector, // a vector weight's start; `index` as WeightUses numbers it
    Number, // `index` itself, an i64
  };
  Kind kind;
  int64_t index = 0;
  mlir::Value buffer = {};

  bool operator==(const KernelArgument &) const = default;
};

/// A function and its arguments but for the last two: begin and end of the
/// rows, of type index.
struct KernelCall {
  mlir::func::FuncOp function;
  llvm::SmallVector<KernelArgument> arguments;
};

/// The functions of a module by signature: programs share them.
using KernelTable = llvm::StringMap<mlir::func::FuncOp>;

/// The row kernels of one step.
class RowKernels {
public:
  RowKernels(mlir::SymbolTable &symbols, KernelTable &kernels,
             RuntimeCalls &runtime, WeightUses &weights, int64_t lanes)
      : symbols(symbols), kernels(kernels), runtime(runtime), weights(weights),
        lanes(lanes) {}

  /// The function for a row loop, made where there is none yet.
  KernelCall getCall(ir::TaskRowsOp loop);

private:
  llvm::SmallVector<KernelArgument> getArguments(ir::TaskRowsOp loop,
                                                 mlir::Operation *op);
  llvm::SmallVector<KernelArgument> getArguments(ir::TaskRowsOp loop);
  mlir::func::FuncOp create(ir::TaskRowsOp loop,
                            llvm::ArrayRef<KernelArgument> arguments);

  mlir::SymbolTable &symbols;
  KernelTable &kernels;
  RuntimeCalls &runtime;
  WeightUses &weights;
  int64_t lanes;
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWKERNELS_H
