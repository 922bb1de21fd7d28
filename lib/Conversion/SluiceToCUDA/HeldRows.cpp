//===- HeldRows.cpp - rows that stay in registers -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldRows.h"

#include "ThreadOrder.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocuda;

/// The most numbers that a thread keeps in registers for a later loop. A block
/// of 1024 threads has 64 registers for each thread.
static constexpr int64_t maxHeld = 24;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Returns the columns of a loop's widest item.
static int64_t getWidest(ArrayRef<LoopItem> items) {
  int64_t width = 1;
  for (const LoopItem &item : items) {
    width = std::max(width, item.width);
    if (item.op)
      for (Value output : item.op->getResults())
        width = std::max(width, getWidth(output.getType()));
  }
  return width;
}

RowShape sluice::tocuda::getShape(TaskRowsOp loop) {
  SmallVector<LoopItem> items = formItems(loop);
  // All sums have one width: PlanTargetInterface::sumsOneWidth.
  for (const LoopItem &item : items)
    if (llvm::any_of(item.passes, [](ColumnPass pass) { return pass.isSum(); }))
      return getBlockShape(item.width);
  int64_t width = getWidest(items);
  // A head has one block.
  return loop.countHeads() > 1 || needsBlock(loop) ? getBlockShape(width)
                                                   : getSpreadShape(width);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

SmallVector<Value> sluice::tocuda::getWeights(const ColumnPass &pass) {
  return pass.isLast() ? getVectorWeights(pass.op) : SmallVector<Value>();
}

/// Returns how many numbers of rows of these widths a thread has. Returns more
/// than maxHeld if it goes over a row in a loop, so that they cannot be in
/// registers.
static int64_t countHeld(ArrayRef<int64_t> widths, RowShape shape) {
  int64_t numbers = 0;
  for (int64_t width : widths) {
    int64_t lanes = getLanes({width});
    if (!shape.isUnrolled(width / lanes))
      return maxHeld + 1;
    numbers += shape.countTurns(width / lanes) * lanes;
  }
  return numbers;
}

HeldRows sluice::tocuda::findHeld(TaskRowsOp loop, RowShape shape) {
  HeldRows held;
  SmallVector<int64_t> widths;
  SmallVector<LoopItem> items = formItems(loop);
  held.rows = findReread(items);
  for (Value rows : held.rows)
    widths.push_back(getWidth(rows.getType()));
  if (countHeld(widths, shape) > maxHeld) {
    held.rows.clear();
    widths.clear();
  }
  for (const LoopItem &item : items)
    for (const ColumnPass &pass : item.passes)
      widths.append(getWeights(pass).size(), item.width);
  held.weights = countHeld(widths, shape) <= maxHeld;
  return held;
}
