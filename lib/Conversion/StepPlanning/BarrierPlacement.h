//===- BarrierPlacement.h - where threads wait for each other -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All threads run the same tasks in the same order; what one wrote is seen by
// the others after the next barrier. So two tasks need a barrier between them
// when one writes a buffer that the other touches, and a thread's parts of the
// buffer in the two tasks are not the same: a norm may read what the sum before
// it left in the same rows, a matrix product must wait for all rows.
//
// Barriers are put as late as possible, each before the first task that needs
// one since the last barrier. In a straight line of tasks no placement has
// fewer. Values are told apart by buffer, not by address: memory is reused only
// across barriers (ArenaPlan.h), so reuse never asks for another.
//
// A checkpoint is a barrier before and after itself, and gets an interval of
// its own.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_BARRIERPLACEMENT_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_BARRIERPLACEMENT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"

namespace sluice::planning {

/// The part of a buffer that one thread touches.
enum class Share {
  Rows,    // its share of the step's rows
  Outputs, // its share of the output rows
  Whole,   // any of it
};

/// A task's use of a buffer.
struct Access {
  unsigned buffer;
  Share share;
  bool writes;
};

/// The interval between barriers that each task falls into, counted from 0: a
/// barrier stands before every task whose interval is not that of the task
/// before it, but where one of the two is a checkpoint. `checkpoints` says
/// which tasks are; empty: none.
llvm::SmallVector<unsigned>
placeBarriers(llvm::ArrayRef<llvm::SmallVector<Access>> tasks,
              const llvm::BitVector &checkpoints = {});

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_BARRIERPLACEMENT_H
