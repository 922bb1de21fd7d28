//===- RowLoops.h - the parts of a row loop's code ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of a row loop goes over the columns of a row several times. Adjacent
// ops over rows of one width share a loop over the columns. An op that needs a
// scalar of the whole row, such as a norm, needs several loops.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_PLANNING_ROWLOOPS_H
#define SLUICE_LIB_PLANNING_ROWLOOPS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::planning {

/// One pass of an op over the columns. All but an op's last pass reduce the row
/// to a scalar that the next pass uses. `rms_norm` has two passes (the sum of
/// squares, the scaling) and `layer_norm` three; `to_operand` has two if it
/// first searches for the largest magnitude; other ops have one.
struct ColumnPass {
  mlir::Operation *op;
  unsigned number;

  bool isLast() const;
  /// Returns whether the pass sums the row. The only other reduction is the
  /// first pass of `to_operand`, which finds the largest magnitude.
  bool isSum() const;
};

/// A part of a row loop's code: an op with loops of its own, or a loop over
/// columns.
struct LoopItem {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<ColumnPass, 4> passes; // if there is no `op`
  int64_t width = 0;                       // columns of the passes' rows
};

/// Returns whether the op goes over the columns in passes and has no loops of
/// its own.
bool isColumnOp(mlir::Operation *op);

/// Returns the number of passes of such an op.
unsigned countPasses(mlir::Operation *op);

/// Returns the width of the rows that an op sums, or 0 if it sums none.
int64_t getSumWidth(mlir::Operation *op);

/// Returns the operands of an op of a row loop that are rows, in order.
llvm::SmallVector<mlir::Value> getRowOperands(mlir::Operation *op);

/// Returns the vector operands of an op that goes over the columns, in order.
llvm::SmallVector<mlir::Value> getVectorWeights(mlir::Operation *op);

/// Returns the parts of a row loop's code, in order. A `sluice.rotations`
/// without a buffer is no part: the ops that rotate look its values up.
llvm::SmallVector<LoopItem> formItems(ir::TaskRowsOp loop);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_ROWLOOPS_H
