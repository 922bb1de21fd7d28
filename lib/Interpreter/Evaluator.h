//===- Evaluator.h - executes the ops of a block --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_EVALUATOR_H
#define SLUICE_LIB_INTERPRETER_EVALUATOR_H

#include "Scope.h"
#include "sluice/Interpreter/Interpreter.h"

#include "mlir/IR/Block.h"

namespace sluice::interpreter {

/// Executes the ops of `block`, regions inside it included, with the values in
/// `scope`. Returns the rows that its terminator passes on. Errors name the op.
Expected<std::shared_ptr<const RowData>>
evalBlock(mlir::Block &block, Scope &scope, Environment &environment);

/// Whether evalBlock knows the op; for checking a module before it is run.
bool isSupported(mlir::Operation *op);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_EVALUATOR_H
