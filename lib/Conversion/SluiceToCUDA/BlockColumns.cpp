//===- BlockColumns.cpp - loops over the columns of a row -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "lib/Conversion/SluiceToNative/ActivationCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

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
  Value result = emitMap(pass, number);
  registers[output][number] = result;
  if (loop.getBuffer(output))
    code.storeLanes(turn, result, getMemory(output),
                    {row, code.scaleIndex(turn.number, lanes)});
  return {};
}

Value BlockEmitter::emitMap(const ColumnPass &pass, size_t turn) {
  auto input = [&](Value rows) { return registers[rows][turn]; };
  auto weight = [&](Value of) { return weights[of][turn]; };
  auto all = [&](Value scalar) { return code.broadcast(scalar, lanes); };
  return llvm::TypeSwitch<Operation *, Value>(pass.op)
      .Case([&](AddBiasOp op) {
        Value sum = input(op.getInput());
        for (Value bias : op.getBiases())
          sum = arith::AddFOp::create(b, sum, weight(bias));
        return sum;
      })
      .Case([&](AddOp op) {
        return arith::AddFOp::create(b, input(op.getLhs()), input(op.getRhs()));
      })
      .Case([&](ActivationOp op) {
        return emitActivation(b, op.getKind(), input(op.getInput()));
      })
      .Case([&](GateOp op) {
        Value gate = emitActivation(b, op.getKind(), input(op.getGate()));
        return arith::MulFOp::create(b, gate, input(op.getInput()));
      })
      .Case([&](RmsNormOp op) {
        Value scaled = arith::MulFOp::create(b, input(op.getInput()),
                                             all(scalars.at(op).inverse));
        return arith::MulFOp::create(b, scaled, weight(op.getWeight()));
      })
      .Case([&](LayerNormOp op) -> Value {
        const Scalars &scalar = scalars.at(op);
        Value centred =
            arith::SubFOp::create(b, input(op.getInput()), all(scalar.mean));
        Value scaled = arith::MulFOp::create(b, centred, all(scalar.inverse));
        if (!op.getBias())
          return arith::MulFOp::create(b, scaled, weight(op.getWeight()));
        return math::FmaOp::create(b, scaled, weight(op.getWeight()),
                                   weight(op.getBias()));
      });
}

/// Combines the partial result of a thread's columns with more columns.
Value BlockEmitter::emitReduce(const ColumnPass &pass, Value x, Value sum) {
  if (!pass.isSum())
    return emitLargest(x, sum);
  bool isLayerNorm = isa<LayerNormOp>(pass.op);
  if (isLayerNorm && pass.number == 0)
    return arith::AddFOp::create(b, sum, x);
  if (isLayerNorm)
    x = arith::SubFOp::create(b, x,
                              code.broadcast(scalars.at(pass.op).mean, lanes));
  return math::FmaOp::create(b, x, x, sum);
}

void BlockEmitter::finishReduction(const ColumnPass &pass, Value result) {
  if (pass.isSum())
    finishSum(pass, result);
  else
    finishLargest(cast<ToOperandOp>(pass.op), result);
}

void BlockEmitter::finishSum(const ColumnPass &pass, Value sum) {
  Operation *op = pass.op;
  auto constant = [&](double value) {
    return emitConstant(b, b.getF32Type(), value);
  };
  double width = static_cast<double>(getWidth(op->getOperand(0).getType()));
  Value mean = arith::DivFOp::create(b, sum, constant(width));
  Scalars &scalar = scalars[op];
  if (isa<LayerNormOp>(op) && pass.number == 0) {
    scalar.mean = mean;
    return;
  }
  APFloat epsilon = isa<RmsNormOp>(op) ? cast<RmsNormOp>(op).getEpsilon()
                                       : cast<LayerNormOp>(op).getEpsilon();
  Value square =
      arith::AddFOp::create(b, mean, constant(epsilon.convertToDouble()));
  scalar.inverse =
      arith::DivFOp::create(b, constant(1.0), math::SqrtOp::create(b, square));
}
