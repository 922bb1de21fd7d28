//===- FormColumns.cpp - the pass that keeps values in registers ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"
#include "sluice/Planning/Passes.h"

#include "llvm/ADT/DenseSet.h"

namespace sluice {
#define GEN_PASS_DEF_FORMCOLUMNS
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

/// Returns whether only the loop that writes the buffer accesses it.
static bool isPrivate(Value buffer) { return buffer.hasOneUse(); }

/// Returns the rows that are used only in the column loop that makes them.
static DenseSet<Value> findInColumnLoop(TaskRowsOp loop) {
  SmallVector<LoopItem> items = formItems(loop);
  DenseMap<Value, const LoopItem *> makers;
  DenseSet<Value> found;
  for (const LoopItem &item : items)
    for (const ColumnPass &pass : item.passes)
      if (pass.isLast()) {
        Value result = pass.op->getResult(0);
        makers[result] = &item;
        found.insert(result);
      }
  auto read = [&](Operation *op, const LoopItem *reader) {
    for (Value input : getRowOperands(op))
      if (makers.lookup(input) != reader)
        found.erase(input);
  };
  for (const LoopItem &item : items) {
    if (item.op)
      read(item.op, nullptr);
    for (const ColumnPass &pass : item.passes)
      read(pass.op, &item);
  }
  return found;
}

/// Returns the rows that only loops over columns read and that the target's
/// code keeps in registers.
static DenseSet<Value> findHeld(TaskRowsOp loop) {
  DenseSet<Value> found;
  PlanTargetInterface target = loop->getParentOfType<StepOp>().getPlanTarget();
  for (Value rows : target.getHeldValues(loop)) {
    Operation *maker = rows.getDefiningOp();
    if (maker && isColumnOp(maker) && !isa<ToOperandOp>(maker) &&
        llvm::all_of(rows.getUsers(), [](Operation *user) {
          return isa<TaskYieldOp>(user) || isColumnOp(user);
        }))
      found.insert(rows);
  }
  return found;
}

namespace {

struct FormColumns : sluice::impl::FormColumnsBase<FormColumns> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isAssigned())
      return; // planned already
    for (TaskRowsOp loop :
         llvm::make_early_inc_range(step.getBody().getOps<TaskRowsOp>()))
      if (!loop.getRuntime()) {
        keep(loop, findInColumnLoop(loop));
        keep(loop, findHeld(loop));
      }
  }

private:
  /// Erases the buffers of those of the rows that no other task reads.
  void keep(TaskRowsOp loop, const DenseSet<Value> &rows) {
    TaskYieldOp yield = loop.getYield();
    for (unsigned i = loop.getWrites().size(); i-- > 0;) {
      Value buffer = loop.getWrites()[i];
      if (!rows.contains(yield.getRows()[i]) || !isPrivate(buffer))
        continue;
      loop.getWritesMutable().erase(i);
      yield.getRowsMutable().erase(i);
      buffer.getDefiningOp()->erase();
      ++valuesKept;
    }
  }
};

} // namespace
