//===- Evaluator.h - execution of one op ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_EVALUATOR_H
#define SLUICE_LIB_INTERPRETER_EVALUATOR_H

#include "Scope.h"
#include "sluice/Interpreter/Interpreter.h"

#include "mlir/IR/Operation.h"

namespace sluice::interpreter {

/// Executes an op with the values in `scope`, as `member` of its group. Does
/// not take ops with regions and ops at which members meet, which Execution
/// handles. Errors name the op.
Status evalOp(mlir::Operation *op, Scope &scope, Environment &environment,
              int64_t member);

/// Returns whether the interpreter can execute the op. It serves to check a
/// module before it is run.
bool isSupported(mlir::Operation *op);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_EVALUATOR_H
