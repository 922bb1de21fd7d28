//===- StepSchedule.h - nodes as row loops and calls ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Work is shared in two ways: by rows, or as the runtime splits a matrix
// product or an attention. Going from one to the other takes a barrier of
// threads on a CPU, a launch on a GPU, so nodes are done as early as their
// inputs allow in two turns: all row-wise nodes that are ready as one row loop,
// then all calls that are ready, and so on. For a serial layer that is the
// order of its ops; of parallel branches it overlaps the halves between the
// same barriers. No node goes past a checkpoint: between two of them it is done
// where its op stands.
//
// Inside a row loop, nodes that go over the columns of rows of one width share
// a loop over the columns. A value whose readers are all in the column loop
// that makes it stays in registers and has no memory.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_STEPSCHEDULE_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_STEPSCHEDULE_H

#include "BarrierPlacement.h"
#include "StepGraph.h"

#include "llvm/ADT/BitVector.h"

namespace sluice::planning {

/// One pass of a node over the columns. All but a node's last pass reduce the
/// row to a scalar that the next pass uses: `rms_norm` has two passes (the sum
/// of squares, the scaling), `layer_norm` three, a RowOperand as it says, the
/// others one.
struct ColumnPass {
  const Node *node;
  unsigned number;

  bool isLast() const;
  /// Whether it adds the row up, and does not just compare its numbers.
  bool isSum() const;
};

/// A part of a row loop's body: a node, or a loop over columns.
struct LoopItem {
  const Node *node = nullptr;
  llvm::SmallVector<ColumnPass, 4> passes; // where there is no node
  int64_t width = 0;                       // columns of the passes' rows
};

/// What threads do between being told to: a row loop, one call, or a
/// checkpoint.
struct Task {
  Domain domain;
  llvm::SmallVector<const Node *> nodes; // in order; a call has one
  llvm::SmallVector<LoopItem> items;     // of a row loop

  bool isRowLoop() const { return !items.empty(); }
  bool isCheckpoint() const {
    return nodes.front()->kind == Node::Kind::Checkpoint;
  }
};

struct StepSchedule {
  std::vector<Task> tasks;
  llvm::BitVector inRegisters; // buffers without memory

  /// The buffers that a task touches in memory.
  llvm::SmallVector<Access> getAccesses(const Task &task) const;
};

/// The graph must outlive the schedule.
StepSchedule scheduleStep(const StepGraph &graph, const StepTarget &target);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_STEPSCHEDULE_H
