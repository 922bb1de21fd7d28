//===- HeldRows.h - what of a row stays in registers --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has the same columns in all loops over rows of a width. Where that
// is little enough, what one loop read or made waits in registers for the next
// one.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_HELDROWS_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_HELDROWS_H

#include "BlockCode.h"
#include "lib/Planning/RowLoops.h"

#include "llvm/ADT/DenseSet.h"

namespace sluice::tocuda {

using namespace planning;

/// The threads of a row loop's rows. Where they add rows up, the width of these
/// alone says how many there are: other ops of the task may be in another one
/// in a program with other checkpoints, and no sum may depend on that.
RowShape getShape(ir::TaskRowsOp loop);

/// What a row loop keeps in registers from one loop over columns to another.
struct HeldRows {
  llvm::DenseSet<mlir::Value> rows;
  bool weights = false; // all of them are there before the rows are
};

HeldRows findHeld(ir::TaskRowsOp loop, RowShape shape);

/// The vector weights that the code of a pass takes.
llvm::SmallVector<mlir::Value> getWeights(const ColumnPass &pass);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_HELDROWS_H
