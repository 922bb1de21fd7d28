//===- ThreadOrder.cpp - barriers between a block's threads ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadOrder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocuda;

/// Returns whether an item's threads write the same columns as in loops over
/// columns.
static bool writesOwn(const LoopItem &item) {
  return !item.op || isa<SelectOutputsOp>(item.op);
}

/// Returns the ops of an item.
static SmallVector<Operation *> getOps(const LoopItem &item) {
  SmallVector<Operation *> ops;
  if (item.op)
    ops.push_back(item.op);
  for (const ColumnPass &pass : item.passes)
    ops.push_back(pass.op);
  return ops;
}

bool ThreadOrder::needsBarrier(const LoopItem &item) {
  SmallVector<Operation *> ops = getOps(item);
  bool readsOthers = llvm::any_of(ops, [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value input) {
      auto found = written.find(input);
      return found != written.end() && (item.op || !found->second);
    });
  });
  if (readsOthers)
    written.clear();
  for (Operation *op : ops)
    for (Value output : op->getResults())
      if (loop.getBuffer(output))
        written[output] = writesOwn(item);
  return readsOthers;
}

int64_t sluice::tocuda::countReductions(ArrayRef<LoopItem> items) {
  int64_t reductions = 0;
  for (const LoopItem &item : items)
    reductions += llvm::count_if(
        item.passes, [](const ColumnPass &pass) { return !pass.isLast(); });
  return reductions;
}

bool sluice::tocuda::needsBlock(TaskRowsOp loop) {
  SmallVector<LoopItem> items = formItems(loop);
  ThreadOrder order(loop);
  return countReductions(items) > 0 ||
         llvm::any_of(items, [&](const LoopItem &item) {
           return order.needsBarrier(item);
         });
}

llvm::DenseSet<Value> sluice::tocuda::findReread(ArrayRef<LoopItem> items) {
  llvm::DenseMap<Value, const LoopItem *> touched; // by the first item
  llvm::DenseSet<Value> reread;
  for (const LoopItem &item : items) {
    if (!writesOwn(item))
      continue;
    for (Operation *op : getOps(item)) {
      if (!item.op)
        for (Value input : getRowOperands(op))
          if (touched.try_emplace(input, &item).first->second != &item)
            reread.insert(input);
      for (Value output : op->getResults())
        touched.try_emplace(output, &item);
    }
  }
  return reread;
}
