//===- AssignArena.cpp - the pass that places buffers in the arena --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaPlan.h"
#include "sluice/Planning/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_ASSIGNARENA
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

namespace {

/// The intervals in which a step's buffers are used. An interval is from
/// barrier to barrier or, if the target has no barriers, one task.
class Lifetimes {
public:
  explicit Lifetimes(StepOp step)
      : hasBarriers(step.getPlanTarget().hasBarriers()) {
    for (Operation &op : step.getBody().front())
      visit(&op);
    use(step.getResults().getBuffer());
  }

  Lifetime lookup(Value buffer) const { return lifetimes.lookup(buffer); }

private:
  void visit(Operation *op) {
    auto task = dyn_cast<TaskInterface>(op);
    if (!task) {
      interval += isa<BarrierOp>(op);
      return;
    }
    const bool isCheckpoint = isa<TaskCheckpointOp>(op);
    interval += isCheckpoint || !hasBarriers;
    for (const MemoryAccess &access : task.getAccesses())
      if (isa<BufferType>(access.memory.getType()))
        use(access.memory);
    interval += isCheckpoint;
  }

  void use(Value buffer) {
    auto [entry, isNew] = lifetimes.try_emplace(buffer);
    Lifetime &lifetime = entry->second;
    if (isNew)
      lifetime = {cast<BufferType>(buffer.getType()).getFloats(), interval,
                  interval};
    lifetime.last = interval;
  }

  bool hasBarriers;
  unsigned interval = 0;
  DenseMap<Value, Lifetime> lifetimes;
};

struct AssignArena : sluice::impl::AssignArenaBase<AssignArena> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isAssigned())
      return; // planned already
    for (BufferOp buffer :
         llvm::make_early_inc_range(step.getBody().getOps<BufferOp>()))
      if (buffer->use_empty())
        buffer.erase();
    const Lifetimes lifetimes(step);
    FailureOr<int64_t> rows = place(step, lifetimes, ValueDomain::Rows);
    FailureOr<int64_t> outputs = place(step, lifetimes, ValueDomain::Outputs);
    if (failed(rows) || failed(outputs)) {
      step.emitError("has rows too wide to be held in memory");
      return signalPassFailure();
    }
    step.setRowFloats(*rows);
    step.setOutputFloats(*outputs);
  }

private:
  /// Places the buffers of a domain. Returns the floats of the arena for each
  /// record of the domain.
  FailureOr<int64_t> place(StepOp step, const Lifetimes &lifetimes,
                           ValueDomain domain) {
    SmallVector<BufferOp> placed;
    SmallVector<Lifetime> intervals;
    for (BufferOp buffer : step.getBody().getOps<BufferOp>())
      if (buffer.getType().getDomain() == domain) {
        placed.push_back(buffer);
        intervals.push_back(lifetimes.lookup(buffer));
      }
    FailureOr<ArenaPlan> plan = planArena(intervals);
    if (failed(plan))
      return failure();
    for (auto [buffer, offset] : llvm::zip_equal(placed, plan->offsets))
      BufferOp(buffer).setPlace(offset);
    buffers += placed.size();
    return plan->floatsPerRow;
  }
};

} // namespace
