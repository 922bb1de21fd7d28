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
  Value result =
      emitMap(cast<ColumnOpInterface>(pass.op), registers, column, mask);
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
Value RowEmitter::emitMap(ColumnOpInterface op, Registers &registers,
                          Value column, Value mask) {
  SmallVector<Value> columns;
  for (Value operand : op->getOperands())
    columns.push_back(isRows(operand.getType())
                          ? read(operand, registers, column, mask)
                          : readWeight(operand, column, mask));
  return op.buildFeatures(b, columns, scalars[op]);
}

/// Adds the current columns to an op's sums.
Value RowEmitter::emitReduce(const ColumnPass &pass, Value x, Value mask,
                             Value sum) {
  Value next = cast<ColumnOpInterface>(pass.op).buildTerm(
      b, pass.number, x, scalars[pass.op], sum);
  // Lanes after the row's end have arbitrary values.
  return mask ? arith::SelectOp::create(b, mask, next, sum).getResult() : next;
}

/// Computes the scalar that the op's next pass uses.
void RowEmitter::finishReduction(const ColumnPass &pass, Value sum) {
  Value scalar = cast<ColumnOpInterface>(pass.op).buildScalar(
      b, pass.number, code.sumLanes(sum));
  scalars[pass.op].push_back(code.broadcast(scalar));
}
