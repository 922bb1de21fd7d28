//===- RowKernels.h - the functions of row loops --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row loop becomes a SluiceRowKernel (runtime/device/cpu/CpuProgramABI.h),
// which receives an array with the pointers of its operands, and the range of
// rows. Row loops that differ only in their operands share a function. Layers
// are alike, so a model of eighty layers has three or four functions, and its
// stages share theirs.
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

  /// Returns the function of a row loop, whose vectors have `lanes` lanes.
  /// Creates it if there is none yet.
  mlir::func::FuncOp get(ir::TaskRowsOp loop, int64_t lanes);

private:
  mlir::func::FuncOp create(ir::TaskRowsOp loop, int64_t lanes);

  mlir::SymbolTable &symbols;
  RuntimeCalls runtime;
  llvm::StringMap<mlir::func::FuncOp> kernels; // by signature
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_ROWKERNELS_H
