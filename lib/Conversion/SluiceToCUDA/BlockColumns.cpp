//===- BlockColumns.cpp - loops over the columns of a row -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocuda;

void BlockEmitter::emitColumns(const LoopItem &item) {
  lanes = getLanes({item.width});
  SmallVector<ColumnPass> reductions;
  llvm::copy_if(item.passes, std::back_inserter(reductions),
                [](const ColumnPass &pass) { return !pass.isLast(); });
  SmallVector<Value> results(reductions.size());
  for (Value &result : results)
    result = code.constant(0.0, lanes);

  auto body = [&](ArrayRef<Turn> turns, ValueRange carried) {
    loadInputs(item, turns);
    auto next = llvm::to_vector(carried);
    for (auto [number, turn] : llvm::enumerate(turns)) {
      size_t reduction = 0;
      for (const ColumnPass &pass : item.passes)
        if (pass.isLast())
          emitPass(pass, turn, number, Value());
        else
          next[reduction] = emitPass(pass, turn, number, next[reduction]),
          ++reduction;
    }
    return next;
  };
  results = code.forEach(item.width / lanes, results, body);
  if (!held.weights)
    weights.clear();
  if (reductions.empty())
    return;

  auto combine = [&](ValueRange lhs, ValueRange rhs) {
    SmallVector<Value> combined;
    for (auto [pass, a, c] : llvm::zip_equal(reductions, lhs, rhs))
      combined.push_back(pass.isSum() ? arith::AddFOp::create(b, a, c)
                                      : larger(a, c));
    return combined;
  };
  results = code.reduce(code.combineLanes(results, combine), combine);
  for (auto [pass, result] : llvm::zip_equal(reductions, results))
    finishReduction(pass, result);
}

/// Loads the inputs of all turns that are not in registers, before anything is
/// computed. Makes room for the item's results in the registers.
void BlockEmitter::loadInputs(const LoopItem &item, ArrayRef<Turn> turns) {
  SmallVector<Value> columns;
  for (const Turn &turn : turns)
    columns.push_back(code.scaleIndex(turn.number, lanes));
  for (const ColumnPass &pass : item.passes) {
    for (Value input : getRowOperands(pass.op)) {
      Turns &values = registers[input];
      if (values.empty())
        for (Value column : columns)
          values.push_back(
              code.loadLanes(getMemory(input), {row, column}, lanes));
    }
    if (pass.isLast())
      registers[pass.op->getResult(0)].resize(turns.size());
  }
  if (!held.weights)
    loadWeights(item, turns);
}

void BlockEmitter::loadWeights(const LoopItem &item, ArrayRef<Turn> turns) {
  for (const ColumnPass &pass : item.passes)
    for (Value weight : getWeights(pass)) {
      Turns &values = weights[weight];
      if (values.empty())
        for (const Turn &turn : turns)
          values.push_back(code.loadLanes(operands.vectors.at(weight),
                                          code.scaleIndex(turn.number, lanes),
                                          lanes));
    }
}

/// Emits a pass for the turn `number`. Returns the partial result if the pass
/// is a reduction.
Value BlockEmitter::emitPass(const ColumnPass &pass, const Turn &turn,
                             size_t number, Value carried) {
  if (!pass.isLast()) {
    Value x = registers[pass.op->getOperand(0)][number];
    return code.select(turn, emitReduce(pass, x, carried), carried);
  }
  if (auto operand = dyn_cast<ToOperandOp>(pass.op)) {
    emitOperand(operand, turn, registers[operand.getInput()][number]);
    return {};
  }
  Value output = pass.op->getResult(0);
  Value result = emitMap(cast<ColumnOpInterface>(pass.op), number);
  registers[output][number] = result;
  if (loop.getBuffer(output))
    code.storeLanes(turn, result, getMemory(output),
                    {row, code.scaleIndex(turn.number, lanes)});
  return {};
}

Value BlockEmitter::emitMap(ColumnOpInterface op, size_t turn) {
  SmallVector<Value> columns;
  for (Value operand : op->getOperands())
    columns.push_back(isRows(operand.getType()) ? registers[operand][turn]
                                                : weights[operand][turn]);
  return op.buildFeatures(b, columns, getScalars(op));
}

/// Returns the scalars that an op's passes have computed, as vectors.
SmallVector<Value> BlockEmitter::getScalars(Operation *op) {
  return llvm::map_to_vector(
      scalars[op], [&](Value scalar) { return code.broadcast(scalar, lanes); });
}

/// Combines the partial result of a thread's columns with more columns.
Value BlockEmitter::emitReduce(const ColumnPass &pass, Value x, Value sum) {
  if (!pass.isSum())
    return emitLargest(x, sum);
  return cast<ColumnOpInterface>(pass.op).buildTerm(b, pass.number, x,
                                                    getScalars(pass.op), sum);
}

void BlockEmitter::finishReduction(const ColumnPass &pass, Value result) {
  if (!pass.isSum())
    return finishLargest(cast<ToOperandOp>(pass.op), result);
  scalars[pass.op].push_back(
      cast<ColumnOpInterface>(pass.op).buildScalar(b, pass.number, result));
}
