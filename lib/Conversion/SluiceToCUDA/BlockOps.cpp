//===- BlockOps.cpp - splitting, rotation and selection of a row --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

void BlockEmitter::emit(ArrayRef<LoopItem> items, Value rowIndex) {
  row = rowIndex;
  for (const LoopItem &item : items) {
    orderItem(item);
    if (item.node)
      emitNode(*item.node);
    else
      emitColumns(item);
  }
}

/// Puts a barrier before the item where it may read what other threads of the
/// block wrote, and notes what it writes itself.
void BlockEmitter::orderItem(const LoopItem &item) {
  SmallVector<const Node *> nodes;
  if (item.node)
    nodes.push_back(item.node);
  for (const ColumnPass &pass : item.passes)
    nodes.push_back(pass.node);

  bool hasColumns = !item.node;
  bool readsOthers = llvm::any_of(nodes, [&](const Node *node) {
    return llvm::any_of(node->inputs, [&](unsigned input) {
      auto found = written.find(input);
      return found != written.end() && !(hasColumns && found->second);
    });
  });
  if (readsOthers) {
    code.barrier();
    written.clear();
  }
  for (const Node *node : nodes)
    for (unsigned output : node->outputs)
      if (!inRegisters[output])
        written[output] = hasColumns;
}

void BlockEmitter::emitNode(const Node &node) {
  switch (node.kind) {
  case Node::Kind::SelectOutputs:
    return emitSelect(node);
  case Node::Kind::SplitQKV:
    return emitSplit(node);
  case Node::Kind::Concat:
    return emitConcat(node);
  case Node::Kind::Rope:
    return emitRope(node);
  default:
    llvm_unreachable("not in row loops");
  }
}

/// This row's number in memref<?xi32>, as an index.
Value BlockEmitter::loadIndex(Value numbers) {
  return arith::IndexCastUIOp::create(b, b.getIndexType(),
                                      code.load(numbers, row));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void BlockEmitter::emitSelect(const Node &node) {
  Value source = operands.rows.at(node.inputs.front());
  Value target = operands.rows.at(node.outputs.front());
  Value from = loadIndex(operands.outputRows);
  code.forEach(graph.buffers[node.outputs.front()].width, [&](Value column) {
    code.store(code.load(source, {from, column}), target, {row, column});
  });
}

void BlockEmitter::emitSplit(const Node &node) {
  auto op = cast<SplitQKVOp>(node.op);
  int64_t dim = op.getHeadDim(), kvHeads = op.getKvHeads();
  // Columns of queries, keys and values: of all heads, or of one group's.
  bool isGrouped = op.getLayout() == QKVLayout::Grouped;
  int64_t groups = isGrouped ? kvHeads : 1;
  int64_t widths[3] = {static_cast<int64_t>(op.getHeads()) / groups * dim,
                       kvHeads / groups * dim, kvHeads / groups * dim};

  Value source = operands.rows.at(node.inputs.front());
  int64_t begin = 0;
  for (auto [output, width] : llvm::zip_equal(node.outputs, widths)) {
    Value target = operands.rows.at(output);
    code.forEach(groups * width, [&, width = width](Value column) {
      Value from = code.index(begin);
      if (groups == 1) {
        from = code.addIndices(column, from);
      } else {
        auto [group, rest] = code.divideIndex(column, width);
        Value ofGroup =
            code.scaleIndex(group, widths[0] + widths[1] + widths[2]);
        from = code.addIndices(code.addIndices(ofGroup, rest), from);
      }
      code.store(code.load(source, {row, from}), target, {row, column});
    });
    begin += width;
  }
}

void BlockEmitter::emitConcat(const Node &node) {
  Value target = operands.rows.at(node.outputs.front());
  int64_t begin = 0;
  for (unsigned input : node.inputs) {
    int64_t width = graph.buffers[input].width;
    code.forEach(width, [&](Value column) {
      Value to = code.addIndices(column, code.index(begin));
      code.store(code.load(operands.rows.at(input), {row, column}), target,
                 {row, to});
    });
    begin += width;
  }
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

/// Pairs of features (p, p + rotary / 2) of a head, or (2p, 2p + 1), are turned
/// by the angle that the table has for the row's position and the pair:
/// (x0 cos - x1 sin, x1 cos + x0 sin). A thread does whole pairs.
void BlockEmitter::emitRope(const Node &node) {
  auto op = cast<RopeOp>(node.op);
  int64_t dim = op.getHeadDim(), pairs = op.getRotaryDim() / 2;
  bool isHalf = op.getStyle() == RopeStyle::Half;
  Value x = operands.rows.at(node.inputs.front());
  Value y = operands.rows.at(node.outputs.front());
  Value table = operands.ropeTables.at(node.index);
  Value position = loadIndex(operands.positions);
  auto mul = [&](Value lhs, Value rhs) -> Value {
    return arith::MulFOp::create(b, lhs, rhs);
  };
  code.forEach(static_cast<int64_t>(op.getHeads()) * pairs, [&](Value number) {
    auto [head, pair] = code.divideIndex(number, pairs);
    Value first = code.scaleIndex(head, dim);
    first = code.addIndices(first, isHalf ? pair : code.scaleIndex(pair, 2));
    Value second = code.addIndices(first, code.index(isHalf ? pairs : 1));
    Value x0 = code.load(x, {row, first}), x1 = code.load(x, {row, second});
    Value cos = code.load(table, {position, pair});
    Value sin =
        code.load(table, {position, code.addIndices(pair, code.index(pairs))});
    code.store(arith::SubFOp::create(b, mul(x0, cos), mul(x1, sin)), y,
               {row, first});
    code.store(arith::AddFOp::create(b, mul(x1, cos), mul(x0, sin)), y,
               {row, second});
  });
  if (2 * pairs != dim)
    copyRest(node);
}

/// Copies the features of each head that are not rotated.
void BlockEmitter::copyRest(const Node &node) {
  auto op = cast<RopeOp>(node.op);
  int64_t dim = op.getHeadDim(), rotary = op.getRotaryDim();
  Value x = operands.rows.at(node.inputs.front());
  Value y = operands.rows.at(node.outputs.front());
  int64_t rest = dim - rotary;
  code.forEach(static_cast<int64_t>(op.getHeads()) * rest, [&](Value number) {
    auto [head, feature] = code.divideIndex(number, rest);
    Value at = code.addIndices(code.scaleIndex(head, dim), feature);
    at = code.addIndices(at, code.index(rotary));
    code.store(code.load(x, {row, at}), y, {row, at});
  });
}
