//===- RowLoops.h - what a row loop does for one row ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of a row loop goes over the columns of a row again and again. Ops
// that do so for rows of one width, one after the other, share a loop over the
// columns; an op that needs a scalar of the whole row, as a norm does, takes
// several.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_PLANNING_ROWLOOPS_H
#define SLUICE_LIB_PLANNING_ROWLOOPS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::planning {

/// One pass of an op over the columns. All but an op's last pass reduce the row
/// to a scalar that the next pass uses: `rms_norm` has two passes (the sum of
/// squares, the scaling), `layer_norm` three, `to_operand` two where it
/// searches for the largest number first, the others one.
struct ColumnPass {
  mlir::Operation *op;
  unsigned number;

  bool isLast() const;
  /// Whether the pass adds the row up. A reduction that does not compares the
  /// row's numbers.
  bool isSum() const;
};

/// A part of a row loop's code: an op with loops of its own, or a loop over
/// columns.
struct LoopItem {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<ColumnPass, 4> passes; // where there is no `op`
  int64_t width = 0;                       // columns of the passes' rows
};

/// Whether the op goes over the columns in passes, and has no loops of its own.
bool isColumnOp(mlir::Operation *op);

/// How often an op that goes over the columns does so.
unsigned countPasses(mlir::Operation *op);

/// The width of the rows that an op adds up; 0 if it adds up none.
int64_t getSumWidth(mlir::Operation *op);

/// The operands of an op of a row loop that are rows, in order.
llvm::SmallVector<mlir::Value> getRowOperands(mlir::Operation *op);

/// The operands of an op that goes over the columns which are vectors, in
/// order.
llvm::SmallVector<mlir::Value> getVectorWeights(mlir::Operation *op);

/// The parts of a row loop's code, in order. `sluice.rotations` that have no
/// memory are none: who rotates looks them up.
llvm::SmallVector<LoopItem> formItems(ir::TaskRowsOp loop);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_ROWLOOPS_H
