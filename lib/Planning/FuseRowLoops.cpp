//===- FuseRowLoops.cpp - the pass that merges adjacent row loops ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"
#include "sluice/Planning/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace sluice {
#define GEN_PASS_DEF_FUSEROWLOOPS
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

/// Merges row loops into one, which is inserted before the first of them.
static void merge(ArrayRef<TaskRowsOp> loops) {
  llvm::SetVector<Value> reads, weights, writes;
  for (TaskRowsOp loop : loops) {
    for (Value buffer : loop.getReads())
      if (!writes.contains(buffer))
        reads.insert(buffer);
    weights.insert_range(loop.getWeights());
    writes.insert_range(loop.getWrites());
  }
  TaskRowsOp first = loops.front();
  OpBuilder b(first);
  auto merged = TaskRowsOp::create(
      b, first.getLoc(), first.getDomain(), reads.getArrayRef(),
      weights.getArrayRef(), writes.getArrayRef(),
      cast<TaskInterface>(*first).getTaskLayer(), first.countHeads());
  b.setInsertionPointToStart(&merged.getBody().front());
  DenseMap<Value, Value> rows; // the arguments of the buffers
  for (auto [buffer, argument] :
       llvm::zip_equal(reads, merged.getRowArguments()))
    rows[buffer] = argument;
  for (TaskRowsOp loop : loops) {
    IRMapping mapping;
    for (auto [buffer, argument] :
         llvm::zip_equal(loop.getReads(), loop.getRowArguments()))
      mapping.map(argument, rows.at(buffer));
    for (auto [weight, argument] :
         llvm::zip_equal(loop.getWeights(), loop.getWeightArguments()))
      mapping.map(argument,
                  merged.getWeightArguments()[llvm::find(weights, weight) -
                                              weights.begin()]);
    for (Operation &op : loop.getRowOps())
      b.clone(op, mapping);
    for (auto [buffer, result] :
         llvm::zip_equal(loop.getWrites(), loop.getYield().getRows()))
      rows[buffer] = mapping.lookup(result);
  }
  auto yielded = llvm::map_to_vector(
      writes, [&](Value buffer) { return rows.at(buffer); });
  TaskYieldOp::create(b, first.getLoc(), yielded);
  for (TaskRowsOp loop : loops)
    loop.erase();
}

namespace {

struct FuseRowLoops : sluice::impl::FuseRowLoopsBase<FuseRowLoops> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isAssigned())
      return; // planned already
    const bool sumsOneWidth = step.getPlanTarget().sumsOneWidth();
    SmallVector<SmallVector<TaskRowsOp>> groups;
    int64_t summed = 0; // width of the rows that the last group sums
    Operation *last = nullptr;
    for (TaskInterface task : step.getBody().getOps<TaskInterface>()) {
      auto loop = dyn_cast<TaskRowsOp>(task.getOperation());
      if (loop && !loop.getRuntime()) {
        int64_t width = getSum(loop);
        bool joins = last && last == groups.back().back() &&
                     groups.back().front().getDomain() == loop.getDomain() &&
                     groups.back().front().getHeads() == loop.getHeads() &&
                     !(sumsOneWidth && width && summed && width != summed);
        if (!joins) {
          groups.emplace_back();
          summed = 0;
        }
        groups.back().push_back(loop);
        summed = width ? width : summed;
        last = loop;
      } else {
        last = nullptr;
      }
    }
    for (ArrayRef<TaskRowsOp> group : groups)
      if (group.size() > 1) {
        rowLoopsFused += group.size() - 1;
        merge(group);
      }
  }

private:
  /// Returns the width of the rows that a loop sums, or 0 if it sums none.
  static int64_t getSum(TaskRowsOp loop) {
    for (Operation &op : loop.getRowOps())
      if (int64_t width = getSumWidth(&op))
        return width;
    return 0;
  }
};

} // namespace
