//===- CarryRows.cpp - the pass that lists what checkpoints move ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Planning/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace sluice {
#define GEN_PASS_DEF_CARRYROWS
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;

namespace {

struct CarryRows : sluice::impl::CarryRowsBase<CarryRows> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isAssigned())
      return; // planned already
    PlanTargetInterface target = step.getPlanTarget();
    auto declared = llvm::to_vector(step.getBody().getOps<BufferOp>());
    llvm::SmallPtrSet<Value, 16> usedLater;
    usedLater.insert(step.getResults().getBuffer());
    for (Operation &op : llvm::reverse(step.getBody().front())) {
      if (auto checkpoint = dyn_cast<TaskCheckpointOp>(op)) {
        SmallVector<Value> moved;
        for (BufferOp buffer : declared)
          if (usedLater.contains(buffer) && target.isCarried(buffer.getType()))
            moved.push_back(buffer);
        buffersMoved += moved.size();
        checkpoint.getBuffersMutable().assign(moved);
      } else if (auto task = dyn_cast<TaskInterface>(op)) {
        note(task, usedLater);
      }
    }
  }

private:
  static void note(TaskInterface task,
                   llvm::SmallPtrSet<Value, 16> &usedLater) {
    SmallVector<MemoryAccess> accesses = task.getAccesses();
    for (const MemoryAccess &access : accesses)
      if (access.writes)
        usedLater.erase(access.memory);
    for (const MemoryAccess &access : accesses)
      if (!access.writes)
        usedLater.insert(access.memory);
  }
};

} // namespace
