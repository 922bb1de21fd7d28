//===- ThreadOrder.h - where threads need those of their block ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In loops over columns, and where a row is selected, a thread has the same
// columns of all rows of a width. What it left in memory there it may read
// without waiting for others. Rotations, splits and concatenations pair other
// columns.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_THREADORDER_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_THREADORDER_H

#include "lib/Planning/RowLoops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace sluice::tocuda {

using namespace planning;

/// Goes over the items of a row loop.
class ThreadOrder {
public:
  explicit ThreadOrder(ir::TaskRowsOp loop) : loop(loop) {}

  /// Whether threads have to meet before the next item, as it may read what
  /// others wrote. Then notes what it writes itself.
  bool needsBarrier(const LoopItem &item);

private:
  ir::TaskRowsOp loop;
  /// Rows that were written to memory since the last barrier, and whether
  /// column c was by the thread that has column c in all loops over columns.
  llvm::DenseMap<mlir::Value, bool> written;
};

/// Whether a thread has to wait for another one anywhere in the loop: for its
/// part of a reduction, or for what it wrote.
bool needsBlock(ir::TaskRowsOp loop);

/// How often the items reduce a row to a number.
int64_t countReductions(llvm::ArrayRef<LoopItem> items);

/// The rows that are touched in one item and read in a later one, by threads
/// that have the same columns in both.
llvm::DenseSet<mlir::Value> findReread(llvm::ArrayRef<LoopItem> items);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_THREADORDER_H
