//===- RowOps.cpp - splits, rotations and calls for one row ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocpu;

void RowEmitter::emit(Value rowIndex) {
  row = rowIndex;
  for (const LoopItem &item : formItems(loop)) {
    if (item.op)
      emitOp(item.op);
    else
      emitColumns(item);
  }
}

void RowEmitter::emitOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ColumnCopyOpInterface op) { emitCopies(op); })
      .Case([&](RotateOp op) { emitRotate(op); })
      .Default([&](Operation *op) { emitCall(op); });
}

//===----------------------------------------------------------------------===//
// Calls of the runtime for one row
//===----------------------------------------------------------------------===//

void RowEmitter::emitCall(Operation *op) {
  Value begin = arith::IndexCastOp::create(b, b.getI64Type(), row);
  Value end = arith::AddIOp::create(b, begin, makeNumber(b, 1));
  RowRange range = {begin, end};
  Value rows = op->getNumResults() ? op->getResult(0) : op->getOperand(0);
  Value step = operands.step, out = getPointer(rows);
  int64_t width = getWidth(rows.getType());

  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ReceivedRowsOp) {
        runtime.receiveRows(b, step, out, width, range);
      })
      .Case([&](SendRowsOp) { runtime.sendRows(b, step, out, width, range); })
      .Case([&](EmbedOp op) {
        runtime.embed(b, step, operands.tables.at(op.getTable()),
                      op.getBy() == EmbedIndex::Position, out, range);
      })
      .Case([&](SelectOutputsOp op) {
        runtime.selectOutputs(b, step, getPointer(op.getInput()), out, width,
                              range);
      })
      .Case([&](RotationsOp op) {
        runtime.ropeTable(b, step, operands.tables.at(op.getTable()), out,
                          range);
      })
      .Case([&](ToOperandOp op) {
        runtime.quantizeRows(b, step, getPointer(op.getInput()), out, width,
                             range);
      })
      .Default([](Operation *) { llvm_unreachable("not a call for a row"); });
}

//===----------------------------------------------------------------------===//
// split_qkv
//===----------------------------------------------------------------------===//

/// Copies `count` columns of the row.
void RowEmitter::copy(Value source, Value from, Value target, Value to,
                      int64_t count) {
  code.forEachVector(count, [&](Value column, int64_t tail) {
    Value mask = tail ? code.mask(tail, code.getLanes()) : Value();
    Value vector = code.load(source, {row, code.addIndices(from, column)}, mask,
                             code.getLanes());
    code.store(vector, target, {row, code.addIndices(to, column)}, mask);
  });
}

void RowEmitter::emitCopies(ColumnCopyOpInterface op) {
  const ColumnCopies all = op.getCopies();
  code.forEach(all.groups, [&](Value group) {
    for (const ColumnCopy &each : all.copies) {
      auto place = [&](int64_t first, int64_t step) {
        return code.addIndices(code.scaleIndex(group, step), code.index(first));
      };
      copy(getMemory(each.source), place(each.from, each.fromStep),
           getMemory(each.target), place(each.to, each.toStep), each.columns);
    }
  });
}

//===----------------------------------------------------------------------===//
// rotate
//===----------------------------------------------------------------------===//

/// Returns (x0, x1) rotated by the angle: (x0 cos - x1 sin, x1 cos + x0 sin).
std::pair<Value, Value> RowEmitter::rotate(Value x0, Value x1, Value cos,
                                           Value sin) {
  auto mul = [&](Value lhs, Value rhs) -> Value {
    return arith::MulFOp::create(b, lhs, rhs);
  };
  Value y0 = arith::SubFOp::create(b, mul(x0, cos), mul(x1, sin));
  Value y1 = arith::AddFOp::create(b, mul(x1, cos), mul(x0, sin));
  return {y0, y1};
}

void RowEmitter::emitRotate(RotateOp op) {
  int64_t dim = op.getHeadDim(), rotary = op.getRotaryDim();
  code.forEach(op.getHeads(), [&](Value headIndex) {
    Value head = code.scaleIndex(headIndex, dim);
    if (op.getStyle() == RopeStyle::Half)
      rotateHalves(op, head);
    else
      rotateInterleaved(op, head);
    if (rotary == dim)
      return;
    Value rest = code.addIndices(head, code.index(rotary));
    copy(getMemory(op.getInput()), rest, getMemory(op.getResult()), rest,
         dim - rotary);
  });
}

/// Rotates a head whose pairs are features p and p + rotary / 2.
void RowEmitter::rotateHalves(RotateOp op, Value head) {
  int64_t pairs = op.getRotaryDim() / 2;
  int64_t lanes = code.getLanes();
  Value x = getMemory(op.getInput());
  Value table = getMemory(op.getRotations());
  Value y = getMemory(op.getResult());
  code.forEachVector(pairs, [&](Value pair, int64_t tail) {
    Value mask = tail ? code.mask(tail, lanes) : Value();
    Value second = code.addIndices(pair, code.index(pairs));
    Value at0 = code.addIndices(head, pair);
    Value at1 = code.addIndices(head, second);
    auto [y0, y1] = rotate(code.load(x, {row, at0}, mask, lanes),
                           code.load(x, {row, at1}, mask, lanes),
                           code.load(table, {row, pair}, mask, lanes),
                           code.load(table, {row, second}, mask, lanes));
    code.store(y0, y, {row, at0}, mask);
    code.store(y1, y, {row, at1}, mask);
  });
}

/// Rotates a head whose pairs are features 2p and 2p + 1.
void RowEmitter::rotateInterleaved(RotateOp op, Value head) {
  int64_t pairs = op.getRotaryDim() / 2;
  int64_t lanes = code.getLanes();
  Value x = getMemory(op.getInput());
  Value table = getMemory(op.getRotations());
  Value y = getMemory(op.getResult());
  SmallVector<int64_t> evens, odds, woven;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    evens.push_back(2 * lane);
    odds.push_back(2 * lane + 1);
    woven.append({lane, lanes + lane});
  }
  code.forEachVector(pairs, [&](Value pair, int64_t tail) {
    Value mask = tail ? code.mask(tail, lanes) : Value();
    Value bothMask = tail ? code.mask(2 * tail, 2 * lanes) : Value();
    Value at = code.addIndices(head, code.scaleIndex(pair, 2));
    Value sinAt = code.addIndices(pair, code.index(pairs));
    Value both = code.load(x, {row, at}, bothMask, 2 * lanes);
    auto [y0, y1] = rotate(vector::ShuffleOp::create(b, both, both, evens),
                           vector::ShuffleOp::create(b, both, both, odds),
                           code.load(table, {row, pair}, mask, lanes),
                           code.load(table, {row, sinAt}, mask, lanes));
    Value result = vector::ShuffleOp::create(b, y0, y1, woven);
    code.store(result, y, {row, at}, bothMask);
  });
}
