//===- OrderTasks.cpp - the pass that orders a step's tasks ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"
#include "sluice/Planning/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace sluice {
#define GEN_PASS_DEF_ORDERTASKS
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

namespace {

/// Reorders tasks by when their inputs become ready.
class TaskOrderer {
public:
  explicit TaskOrderer(StepOp step) : step(step) {}

  /// Returns the tasks in their new order.
  SmallVector<TaskInterface> run() {
    for (TaskInterface task : step.getBody().getOps<TaskInterface>()) {
      // No task moves past a checkpoint.
      if (!isa<TaskCheckpointOp>(task.getOperation())) {
        pending.push_back(task);
        continue;
      }
      takePending();
      order.push_back(task);
    }
    takePending();
    return std::move(order);
  }

private:
  /// Returns whether the task is a row loop of generated code.
  static bool isLoop(TaskInterface task) {
    auto loop = dyn_cast<TaskRowsOp>(task.getOperation());
    return loop && !loop.getRuntime();
  }

  void takePending() {
    while (!pending.empty()) {
      takeLoops(ValueDomain::Rows);
      takeLoops(ValueDomain::Outputs);
      takeCalls();
    }
  }

  bool isReady(TaskInterface task) const {
    return llvm::all_of(task.getAccesses(), [&](const MemoryAccess &access) {
      return access.writes || written.contains(access.memory);
    });
  }

  void finish(TaskInterface task) {
    for (const MemoryAccess &access : task.getAccesses())
      if (access.writes)
        written.insert(access.memory);
    order.push_back(task);
  }

  /// Takes all row loops over a domain that are ready, or become ready after
  /// earlier ones. Sums over rows of another width are left for the next loop
  /// if the target requires it.
  void takeLoops(ValueDomain domain) {
    const bool sumsOneWidth = step.getPlanTarget().sumsOneWidth();
    int64_t summed = 0;
    llvm::erase_if(pending, [&](TaskInterface task) {
      if (!isLoop(task) || task.getTaskDomain() != domain || !isReady(task))
        return false;
      for (Operation &op : cast<TaskRowsOp>(*task).getRowOps()) {
        int64_t width = getSumWidth(&op);
        if (width == 0)
          continue;
        if (sumsOneWidth && summed != 0 && summed != width)
          return false;
        summed = width;
      }
      finish(task);
      return true;
    });
  }

  /// Takes the other tasks that are ready now. Tasks that need one of these
  /// wait, so that row loops between them share their barrier.
  void takeCalls() {
    SmallVector<TaskInterface> calls;
    llvm::erase_if(pending, [&](TaskInterface task) {
      if (isLoop(task) || !isReady(task))
        return false;
      calls.push_back(task);
      return true;
    });
    for (TaskInterface call : calls)
      finish(call);
  }

  StepOp step;
  llvm::SmallPtrSet<Value, 16> written;
  std::vector<TaskInterface> pending; // until the next checkpoint
  SmallVector<TaskInterface> order;
};

struct OrderTasks : sluice::impl::OrderTasksBase<OrderTasks> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isAssigned())
      return; // planned already
    auto before = llvm::to_vector(step.getBody().getOps<TaskInterface>());
    SmallVector<TaskInterface> order = TaskOrderer(step).run();
    for (auto [was, is] : llvm::zip_equal(before, order)) {
      tasksMoved += was != is;
      is->moveBefore(step.getResults());
    }
  }
};

} // namespace
