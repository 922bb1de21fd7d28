//===- TaskChecks.h - what verifiers of tasks share -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_TASKCHECKS_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_TASKCHECKS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::ir {

inline BufferType getType(mlir::Value buffer) {
  return llvm::cast<BufferType>(buffer.getType());
}

/// Checks that a buffer, which may be null, has records of the task's domain;
/// `what` names it in the error.
mlir::LogicalResult verifyDomain(mlir::Operation *op, llvm::StringRef what,
                                 mlir::Value buffer, ValueDomain domain);

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_TASKCHECKS_H
