//===- RowKernels.h - functions for row loops -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row loop is a SluiceRowKernel of runtime/device/cpu/CpuProgramABI.h: it
// gets an array with the pointers of its operands, and the range of rows.
// Layers repeat each other, so row loops that differ in nothing but their
// operands share a function: the code of a model of eighty layers is that of
// three or four, and stages of one model share theirs.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWKERNELS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWKERNELS_H

#include "RowEmitter.h"

#include "llvm/ADT/StringMap.h"

namespace sluice::tocpu {

/// The row kernels of a module.
class RowKernels {
public:
  explicit RowKernels(mlir::SymbolTable &symbols)
      : symbols(symbols), runtime(symbols) {}

  /// Returns the function for a row loop, whose vectors have so many lanes. It
  /// is made where there is none yet.
  mlir::func::FuncOp get(ir::TaskRowsOp loop, int64_t lanes);

private:
  mlir::func::FuncOp create(ir::TaskRowsOp loop, int64_t lanes);

  mlir::SymbolTable &symbols;
  RuntimeCalls runtime;
  llvm::StringMap<mlir::func::FuncOp> kernels; // by signature
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWKERNELS_H
