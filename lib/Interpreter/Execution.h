//===- Execution.h - execution of a part by one member --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_EXECUTION_H
#define SLUICE_LIB_INTERPRETER_EXECUTION_H

#include "Scope.h"
#include "sluice/Interpreter/Interpreter.h"

#include "mlir/IR/Block.h"

#include <deque>

namespace sluice::interpreter {

/// Executes the body of a `sluice.model`, `sluice.stage` or `sluice.worker` as
/// one member of its group. Stops wherever the members have to meet, so that
/// one thread can execute the members in turn. A part without a group has one
/// member.
class Execution {
public:
  Execution(mlir::Operation *part, int64_t member, Environment &environment)
      : member(member), environment(environment) {
    enter(part->getRegion(0).front());
  }

  /// Returns the values at this point. Before the first advance() the caller
  /// sets the part's inputs here.
  Scope &scope() { return levels.back().scope; }

  /// Executes ops up to the next sluice.checkpoint, sluice.all_reduce or
  /// sluice.all_gather and returns that op, or null at the end. The caller sets
  /// the op's results before the next call, which continues behind it. Errors
  /// name the op.
  Expected<mlir::Operation *> advance();

  /// Returns the rows that the part passes on, once it is at its end.
  const std::shared_ptr<const RowData> &result() const { return passedOn; }

private:
  /// A region that is being executed, and the next op in it.
  struct Level {
    mlir::Block::iterator next;
    Scope scope;
  };

  void enter(mlir::Block &block);
  void enterLayer(ir::LayerOp op);
  void leaveLayer(ir::YieldOp op);

  int64_t member;
  Environment &environment;
  std::deque<Level> levels; ///< a deque keeps outer scopes in place
  std::shared_ptr<const RowData> passedOn;
};

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_EXECUTION_H
