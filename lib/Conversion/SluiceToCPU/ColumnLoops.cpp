//===- ColumnLoops.cpp - norms, activations, gates and sums ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over the columns of a row runs the passes of all its ops on one vector
// of columns before it continues with the next vector. Reductions keep one sum
// in each lane and add the lanes at the end, in an order that depends on the
// width alone.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocpu;

void RowEmitter::emitColumns(const LoopItem &item) {
  SmallVector<Value> sums;
  for (const ColumnPass &pass : item.passes)
    if (!pass.isLast())
      sums.push_back(code.constant(0.0));

  sums = code.forEachVector(
      item.width, sums, [&](Value column, int64_t tail, ValueRange carried) {
        Value mask = tail ? code.mask(tail, code.getLanes()) : Value();
        Registers registers;
        SmallVector<Value> next;
        for (const ColumnPass &pass : item.passes) {
          Value sum = pass.isLast() ? Value() : carried[next.size()];
          sum = emitPass(pass, registers, column, mask, sum);
          if (sum)
            next.push_back(sum);
        }
        return next;
      });

  auto sum = sums.begin();
  for (const ColumnPass &pass : item.passes)
    if (!pass.isLast())
      finishReduction(pass, *sum++);
}

/// Emits a pass for the current columns. Returns the new sums of a reduction.
Value RowEmitter::emitPass(const ColumnPass &pass, Registers &registers,
                           Value column, Value mask, Value carried) {
  if (!pass.isLast()) {
    Value x = read(pass.op->getOperand(0), registers, column, mask);
    return emitReduce(pass, x, mask, carried);
  }
  Value rows = pass.op->getResult(0);
  Value result = emitMap(pass, registers, column, mask);
  registers[rows] = result;
  if (loop.getBuffer(rows))
    code.store(result, getMemory(rows), {row, column}, mask);
  return {};
}

Value RowEmitter::read(Value rows, Registers &registers, Value column,
                       Value mask) {
  Value &value = registers[rows];
  if (!value)
    value = code.load(getMemory(rows), {row, column}, mask, code.getLanes());
  return value;
}

Value RowEmitter::readWeight(Value weight, Value column, Value mask) {
  return code.load(operands.vectors.at(weight), {column}, mask,
                   code.getLanes());
}

/// Emits an op's last pass and returns its result for the current columns.
Value RowEmitter::emitMap(const ColumnPass &pass, Registers &registers,
                          Value column, Value mask) {
  auto input = [&](Value rows) { return read(rows, registers, column, mask); };
  return llvm::TypeSwitch<Operation *, Value>(pass.op)
      .Case([&](AddBiasOp op) {
        Value sum = input(op.getInput());
        for (Value bias : op.getBiases())
          sum = arith::AddFOp::create(b, sum, readWeight(bias, column, mask));
        return sum;
      })
      .Case([&](AddOp op) {
        Value lhs = input(op.getLhs());
        return arith::AddFOp::create(b, lhs, input(op.getRhs()));
      })
      .Case([&](ActivationOp op) {
        return code.activation(op.getKind(), input(op.getInput()));
      })
      .Case([&](GateOp op) {
        Value gate = code.activation(op.getKind(), input(op.getGate()));
        return arith::MulFOp::create(b, gate, input(op.getInput()));
      })
      .Case([&](RmsNormOp op) {
        Value scaled = arith::MulFOp::create(b, input(op.getInput()),
                                             scalars.at(op).inverse);
        return arith::MulFOp::create(b, scaled,
                                     readWeight(op.getWeight(), column, mask));
      })
      .Case([&](LayerNormOp op) -> Value {
        const Scalars &scalar = scalars.at(op);
        Value centred =
            arith::SubFOp::create(b, input(op.getInput()), scalar.mean);
        Value scaled = arith::MulFOp::create(b, centred, scalar.inverse);
        Value weight = readWeight(op.getWeight(), column, mask);
        if (!op.getBias())
          return arith::MulFOp::create(b, scaled, weight);
        return math::FmaOp::create(b, scaled, weight,
                                   readWeight(op.getBias(), column, mask));
      });
}

/// Adds the current columns to an op's sums.
Value RowEmitter::emitReduce(const ColumnPass &pass, Value x, Value mask,
                             Value sum) {
  bool isMean = isa<LayerNormOp>(pass.op) && pass.number == 0;
  Value next;
  if (isMean) {
    next = arith::AddFOp::create(b, sum, x);
  } else {
    if (isa<LayerNormOp>(pass.op))
      x = arith::SubFOp::create(b, x, scalars.at(pass.op).mean);
    next = math::FmaOp::create(b, x, x, sum);
  }
  // Lanes after the row's end have arbitrary values.
  return mask ? arith::SelectOp::create(b, mask, next, sum).getResult() : next;
}

/// Computes the scalar that the op's next pass uses.
void RowEmitter::finishReduction(const ColumnPass &pass, Value sum) {
  Operation *op = pass.op;
  auto width = static_cast<double>(getWidth(op->getOperand(0).getType()));
  Value mean =
      arith::DivFOp::create(b, code.sumLanes(sum), code.scalarConstant(width));
  Scalars &scalar = scalars[op];
  if (isa<LayerNormOp>(op) && pass.number == 0) {
    scalar.mean = code.broadcast(mean);
    return;
  }
  APFloat epsilon = isa<RmsNormOp>(op) ? cast<RmsNormOp>(op).getEpsilon()
                                       : cast<LayerNormOp>(op).getEpsilon();
  Value square = arith::AddFOp::create(
      b, mean, code.scalarConstant(epsilon.convertToDouble()));
  Value inverse = arith::DivFOp::create(b, code.scalarConstant(1.0),
                                        math::SqrtOp::create(b, square));
  scalar.inverse = code.broadcast(inverse);
}
