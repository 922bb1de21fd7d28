//===- Execution.h - one member's way through a part ----------------------===//
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
/// one member of its group, and stops wherever the members have to meet: so
/// that one thread can let them take turns. A part of no group is one member.
class Execution {
public:
  Execution(mlir::Operation *part, int64_t member, Environment &environment)
      : member(member), environment(environment) {
    enter(part->getRegion(0).front());
  }

  /// The values at this point; at the beginning, what the part is given.
  Scope &scope() { return levels.back().scope; }

  /// Executes ops up to the next sluice.checkpoint, sluice.all_reduce or
  /// sluice.all_gather, and returns that; null at the end. What has its results
  /// set then goes on behind it. Errors name the op.
  Expected<mlir::Operation *> advance();

  /// The rows that the part passes on, once it is at its end.
  const std::shared_ptr<const RowData> &result() const { return passedOn; }

private:
  /// A region that is executed, and the next op in it.
  struct Level {
    mlir::Block::iterator next;
    Scope scope;
  };

  void enter(mlir::Block &block);
  void enterLayer(ir::LayerOp op);
  void leaveLayer(ir::YieldOp op);

  int64_t member;
  Environment &environment;
  std::deque<Level> levels; ///< a deque: scopes refer to those around them
  std::shared_ptr<const RowData> passedOn;
};

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_EXECUTION_H
