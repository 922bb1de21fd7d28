//===- TaskKernels.h - checks of the kernels that tasks name --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_TASKKERNELS_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_TASKKERNELS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::ir {

/// The memory whose address a task gives to its kernel.
struct TaskMemory {
  bool isConstant = false; ///< whether it never changes
  int64_t floats = 0;      ///< of a record of a buffer; 0 for other memory
};

/// Checks that a task's kernel is a function of the module, or, for a GPU, a
/// kernel that can be launched as the task says (task.rows_c6). `memory` is
/// what it gets for its parameters.
mlir::LogicalResult verifyKernel(mlir::Operation *task, KernelAttr kernel,
                                 llvm::ArrayRef<TaskMemory> memory,
                                 mlir::SymbolTableCollection &symbols);

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_TASKKERNELS_H
