//===- BlockOps.cpp - splits, rotations and selections of rows ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

void BlockEmitter::emit(Value rowIndex) {
  row = rowIndex;
  for (const LoopItem &item : items) {
    if (order.needsBarrier(item))
      code.barrier();
    if (item.op)
      emitOp(item.op);
    else
      emitColumns(item);
    for (auto entry : llvm::make_early_inc_range(registers))
      if (!held.rows.contains(entry.first))
        registers.erase(entry.first);
  }
}

void BlockEmitter::emitEarly() {
  if (!held.weights)
    return;
  for (const LoopItem &item : items) {
    if (llvm::all_of(item.passes, [](const ColumnPass &pass) {
          return getWeights(pass).empty();
        }))
      continue;
    lanes = getLanes({item.width});
    code.forEach(item.width / lanes,
                 [&](ArrayRef<Turn> turns) { loadWeights(item, turns); });
  }
}

void BlockEmitter::emitOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](SelectOutputsOp op) { emitSelect(op); })
      .Case([&](ColumnCopyOpInterface op) { emitCopies(op); })
      .Case([&](RotateOp op) { emitRotate(op); })
      .Default([](Operation *) { llvm_unreachable("not in row loops"); });
}

/// Returns the row's element of a memref<?xi32>, as an index.
Value BlockEmitter::loadIndex(Value numbers) {
  return arith::IndexCastUIOp::create(b, b.getIndexType(),
                                      code.load(numbers, row));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Copies the vectors of several turns and returns them.
BlockEmitter::Turns BlockEmitter::copyTurns(ArrayRef<Turn> turns, int64_t lanes,
                                            Value source, Value sourceRow,
                                            ToColumn from, Value target,
                                            ToColumn to) {
  Turns values;
  for (const Turn &turn : turns)
    values.push_back(
        code.loadLanes(source, {sourceRow, from(turn.number)}, lanes));
  for (auto [turn, value] : llvm::zip_equal(turns, values))
    code.storeLanes(turn, value, target, {row, to(turn.number)});
  return values;
}

/// Copies `columns` columns of the row.
void BlockEmitter::copy(int64_t columns, int64_t lanes, Value source,
                        ToColumn from, Value target, ToColumn to) {
  code.forEach(columns / lanes, [&](ArrayRef<Turn> turns) {
    copyTurns(turns, lanes, source, row, from, target, to);
  });
}

void BlockEmitter::emitSelect(SelectOutputsOp op) {
  Value output = op.getResult();
  Value from = loadIndex(operands.outputRows);
  int64_t width = getWidth(output.getType()), lanes = getLanes({width});
  auto toColumn = [&](Value number) { return code.scaleIndex(number, lanes); };
  code.forEach(width / lanes, [&](ArrayRef<Turn> turns) {
    registers[output] = copyTurns(turns, lanes, getMemory(op.getInput()), from,
                                  toColumn, getMemory(output), toColumn);
  });
}

/// Returns the columns of a vector that divides all parts of the copies.
static int64_t chooseLanes(const ColumnCopies &all) {
  SmallVector<int64_t> widths;
  for (const ColumnCopy &each : all.copies)
    widths.append({each.columns, each.from, each.to});
  return getLanes(widths);
}

void BlockEmitter::emitCopies(ColumnCopyOpInterface op) {
  const ColumnCopies all = op.getCopies();
  const int64_t lanes = chooseLanes(all);
  for (const ColumnCopy &each : all.copies) {
    // Returns the first column of a vector; the groups' vectors follow each
    // other.
    auto place = [&](Value number, int64_t first, int64_t step) {
      Value column = code.scaleIndex(number, lanes);
      if (all.groups > 1 && step != each.columns) {
        auto [group, rest] = code.divideIndex(number, each.columns / lanes);
        column = code.addIndices(code.scaleIndex(group, step),
                                 code.scaleIndex(rest, lanes));
      }
      return code.addIndices(column, code.index(first));
    };
    copy(
        all.groups * each.columns, lanes, getMemory(each.source),
        [&](Value number) { return place(number, each.from, each.fromStep); },
        getMemory(each.target),
        [&](Value number) { return place(number, each.to, each.toStep); });
  }
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

namespace {

/// Emits the rotation of as many pairs of a head's features as a vector has
/// lanes: (x0 cos - x1 sin, x1 cos + x0 sin). The table gives the angle for the
/// row's position and the pair.
class Rotation {
public:
  Rotation(ImplicitLocOpBuilder &b, BlockCode &code, RotateOp op)
      : b(b), code(code), isHalf(op.getStyle() == RopeStyle::Half),
        dim(op.getHeadDim()), pairs(op.getRotaryDim() / 2),
        lanes(getLanes({pairs, dim})) {}

  /// The number of vectors of pairs in a row.
  int64_t count(int64_t heads) const { return heads * pairs / lanes; }

  /// The values that a turn loads from memory.
  struct Inputs {
    Value first, second; // columns
    Value x0, x1, cos, sin;
  };
  Inputs load(Value number, Value x, Value row, Value table, Value position);
  void store(const Turn &turn, const Inputs &in, Value y, Value row);

private:
  Value shuffle(Value lhs, Value rhs, int64_t begin, int64_t step);
  Value mul(Value lhs, Value rhs) { return arith::MulFOp::create(b, lhs, rhs); }

  ImplicitLocOpBuilder &b;
  BlockCode &code;
  bool isHalf; // pairs are (p, p + pairs), otherwise (2p, 2p + 1)
  int64_t dim, pairs, lanes;
};

} // namespace

/// Returns every `step`-th lane of two vectors, from `begin` on.
Value Rotation::shuffle(Value lhs, Value rhs, int64_t begin, int64_t step) {
  SmallVector<int64_t> mask;
  for (int64_t lane = 0; lane < lanes; ++lane)
    mask.push_back(begin + lane * step);
  return vector::ShuffleOp::create(b, lhs, rhs, mask);
}

Rotation::Inputs Rotation::load(Value number, Value x, Value row, Value table,
                                Value position) {
  Inputs in;
  auto [head, rest] = code.divideIndex(number, pairs / lanes);
  Value pair = code.scaleIndex(rest, lanes);
  Value ofHead = code.scaleIndex(head, dim);
  in.first = code.addIndices(ofHead, isHalf ? pair : code.scaleIndex(pair, 2));
  in.second = code.addIndices(in.first, code.index(isHalf ? pairs : lanes));
  in.x0 = code.loadLanes(x, {row, in.first}, lanes);
  in.x1 = code.loadLanes(x, {row, in.second}, lanes);
  in.cos = code.loadLanes(table, {position, pair}, lanes);
  Value sine = code.addIndices(pair, code.index(pairs));
  in.sin = code.loadLanes(table, {position, sine}, lanes);
  return in;
}

void Rotation::store(const Turn &turn, const Inputs &in, Value y, Value row) {
  Value x0 = in.x0, x1 = in.x1;
  if (!isHalf) {
    x0 = shuffle(in.x0, in.x1, 0, 2);
    x1 = shuffle(in.x0, in.x1, 1, 2);
  }
  Value y0 = arith::SubFOp::create(b, mul(x0, in.cos), mul(x1, in.sin));
  Value y1 = arith::AddFOp::create(b, mul(x1, in.cos), mul(x0, in.sin));
  if (!isHalf) {
    // Interleaves the results into adjacent pairs: lanes 0, n, 1, n + 1, ...
    SmallVector<int64_t> mask;
    for (int64_t lane = 0; lane < lanes; ++lane)
      mask.append({lane, lanes + lane});
    ArrayRef<int64_t> all = mask;
    Value evenly = vector::ShuffleOp::create(b, y0, y1, all.take_front(lanes));
    y1 = vector::ShuffleOp::create(b, y0, y1, all.take_back(lanes));
    y0 = evenly;
  }
  code.storeLanes(turn, y0, y, {row, in.first});
  code.storeLanes(turn, y1, y, {row, in.second});
}

void BlockEmitter::emitRotate(RotateOp op) {
  Value x = getMemory(op.getInput());
  Value y = getMemory(op.getResult());
  auto rotations = op.getRotations().getDefiningOp<RotationsOp>();
  Value table = operands.ropeTables.at(rotations.getTable());
  Value position = loadIndex(operands.positions);
  Rotation rotation(b, code, op);
  code.forEach(rotation.count(op.getHeads()), [&](ArrayRef<Turn> turns) {
    SmallVector<Rotation::Inputs> inputs;
    for (const Turn &turn : turns)
      inputs.push_back(rotation.load(turn.number, x, row, table, position));
    for (auto [turn, in] : llvm::zip_equal(turns, inputs))
      rotation.store(turn, in, y, row);
  });
  if (op.getRotaryDim() != static_cast<int64_t>(op.getHeadDim()))
    copyRest(op);
}

/// Copies the features of each head that are not rotated.
void BlockEmitter::copyRest(RotateOp op) {
  int64_t dim = op.getHeadDim(), rotary = op.getRotaryDim();
  int64_t rest = dim - rotary, lanes = getLanes({rotary, dim});
  auto at = [&](Value number) {
    auto [head, feature] = code.divideIndex(number, rest / lanes);
    Value column = code.addIndices(code.scaleIndex(head, dim),
                                   code.scaleIndex(feature, lanes));
    return code.addIndices(column, code.index(rotary));
  };
  copy(static_cast<int64_t>(op.getHeads()) * rest, lanes,
       getMemory(op.getInput()), at, getMemory(op.getResult()), at);
}
