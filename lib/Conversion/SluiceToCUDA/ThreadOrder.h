//===- ThreadOrder.h - barriers between a block's threads -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has the same columns of all rows of one width in loops over columns
// and where a row is selected. It can read what it wrote there without a
// barrier. Rotations, splits and concatenations access other columns.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCUDA_THREADORDER_H
#define SLUICE_LIB_CONVERSION_SLUICETOCUDA_THREADORDER_H

#include "lib/Planning/RowLoops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace sluice::tocuda {

using namespace planning;

/// Goes over the items of a row loop, in order.
class ThreadOrder {
public:
  explicit ThreadOrder(ir::TaskRowsOp loop) : loop(loop) {}

  /// Returns whether the threads need a barrier before the next item, because
  /// it may read what other threads wrote. Then notes the item's own writes.
  bool needsBarrier(const LoopItem &item);

private:
  ir::TaskRowsOp loop;
  /// Rows that were written to memory since the last barrier. The value says
  /// whether column c was written by the thread that has it in loops over
  /// columns.
  llvm::DenseMap<mlir::Value, bool> written;
};

/// Returns whether any thread must wait for another one in the loop: for its
/// part of a reduction, or for what it wrote.
bool needsBlock(ir::TaskRowsOp loop);

/// Returns how often the items reduce a row to a number.
int64_t countReductions(llvm::ArrayRef<LoopItem> items);

/// Returns the rows that one item accesses and a later item reads, if threads
/// have the same columns in both.
llvm::DenseSet<mlir::Value> findReread(llvm::ArrayRef<LoopItem> items);

} // namespace sluice::tocuda

#endif // SLUICE_LIB_CONVERSION_SLUICETOCUDA_THREADORDER_H
