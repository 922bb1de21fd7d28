//===- RowLoops.cpp - the parts of a row loop's code ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

bool sluice::planning::isColumnOp(Operation *op) {
  if (auto operand = dyn_cast<ToOperandOp>(op))
    return operand.getOperand().getFormat() != OperandFormat::Q8;
  return isa<ColumnOpInterface>(op);
}

unsigned sluice::planning::countPasses(Operation *op) {
  if (auto operand = dyn_cast<ToOperandOp>(op))
    return operand.getOperand().getFormat() == OperandFormat::F16 ? 2 : 1;
  return cast<ColumnOpInterface>(op).countSums() + 1;
}

bool ColumnPass::isLast() const { return number + 1 == countPasses(op); }

bool ColumnPass::isSum() const { return !isa<ToOperandOp>(op) && !isLast(); }

int64_t sluice::planning::getSumWidth(Operation *op) {
  auto columns = dyn_cast<ColumnOpInterface>(op);
  if (!columns || columns.countSums() == 0)
    return 0;
  return getWidth(op->getOperand(0).getType());
}

SmallVector<Value> sluice::planning::getRowOperands(Operation *op) {
  return llvm::filter_to_vector<4>(op->getOperands(), [](Value operand) {
    return isRows(operand.getType());
  });
}

SmallVector<Value> sluice::planning::getVectorWeights(Operation *op) {
  if (!isColumnOp(op))
    return {};
  return llvm::filter_to_vector<4>(op->getOperands(), [](Value operand) {
    return isVectorWeight(operand.getType());
  });
}

/// Appends a pass to the last item if that is a loop over as many columns,
/// otherwise to a new item. A pass never joins the loop of the previous pass of
/// its op, because it needs that pass's scalar.
static void addPass(SmallVectorImpl<LoopItem> &items, ColumnPass pass,
                    int64_t width) {
  auto isPassBefore = [&](const ColumnPass &other) {
    return other.op == pass.op;
  };
  if (items.empty() || items.back().op || items.back().width != width ||
      llvm::any_of(items.back().passes, isPassBefore)) {
    items.emplace_back();
    items.back().width = width;
  }
  items.back().passes.push_back(pass);
}

SmallVector<LoopItem> sluice::planning::formItems(TaskRowsOp loop) {
  SmallVector<LoopItem> items;
  for (Operation &op : loop.getRowOps()) {
    if (isa<RotationsOp>(op) && !loop.getBuffer(op.getResult(0)))
      continue;
    if (!isColumnOp(&op)) {
      items.emplace_back();
      items.back().op = &op;
      continue;
    }
    int64_t width = getWidth(op.getResult(0).getType());
    for (unsigned number = 0; number < countPasses(&op); ++number)
      addPass(items, {&op, number}, width);
  }
  return items;
}
