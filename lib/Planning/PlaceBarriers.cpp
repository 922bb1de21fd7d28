//===- PlaceBarriers.cpp - the pass that inserts barriers -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Planning/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_PLACEBARRIERS
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;

/// Returns whether threads need a barrier between the two accesses. Compares
/// buffers, not addresses: memory is reused only across barriers
/// (AssignArena.cpp), so reuse never needs another barrier.
static bool conflicts(const MemoryAccess &earlier, const MemoryAccess &later) {
  if (earlier.memory != later.memory || (!earlier.writes && !later.writes))
    return false;
  return earlier.extent == AccessExtent::All || earlier.extent != later.extent;
}

namespace {

struct PlaceBarriers : sluice::impl::PlaceBarriersBase<PlaceBarriers> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isAssigned())
      return; // planned already
    if (!step.getPlanTarget().hasBarriers())
      return;
    SmallVector<MemoryAccess> sinceBarrier;
    for (Operation &op : step.getBody().front()) {
      auto task = dyn_cast<TaskInterface>(op);
      if (!task)
        continue;
      // A checkpoint is a barrier before and after itself.
      if (isa<TaskCheckpointOp>(op)) {
        sinceBarrier.clear();
        continue;
      }
      SmallVector<MemoryAccess> accesses = task.getAccesses();
      bool conflictsWithEarlier =
          llvm::any_of(accesses, [&](const MemoryAccess &later) {
            return llvm::any_of(sinceBarrier, [&](const MemoryAccess &earlier) {
              return conflicts(earlier, later);
            });
          });
      if (conflictsWithEarlier) {
        OpBuilder b(&op);
        BarrierOp::create(b, op.getLoc());
        ++barriers;
        sinceBarrier.clear();
      }
      llvm::append_range(sinceBarrier, accesses);
    }
  }
};

} // namespace
