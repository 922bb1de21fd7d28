//===- HeldRows.h - rows that stay in registers ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has the same columns in all loops over rows of one width. If they
// are few, values that one loop read or made stay in registers for the next
// loop.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_HELDROWS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_HELDROWS_H

#include "BlockCode.h"
#include "lib/Planning/RowLoops.h"

#include "llvm/ADT/DenseSet.h"

namespace sluice::tocuda {

using namespace planning;

/// Returns the threads that compute a row of the loop. If the loop sums rows,
/// their number depends only on the width of the summed rows. If it also
/// depended on the loop's other ops, the bits of a sum would differ in a
/// program whose checkpoints put these ops into another task.
RowShape getShape(ir::TaskRowsOp loop);

/// What a row loop keeps in registers from one loop over columns to the next.
struct HeldRows {
  llvm::DenseSet<mlir::Value> rows;
  bool weights = false; // whether all weights are loaded before the rows exist
};

HeldRows findHeld(ir::TaskRowsOp loop, RowShape shape);

/// Returns the vector weights that a pass uses.
llvm::SmallVector<mlir::Value> getWeights(const ColumnPass &pass);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_HELDROWS_H
