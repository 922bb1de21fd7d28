//===- BlockColumns.cpp - loops over the columns of a row ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "lib/Conversion/StepPlanning/ActivationCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

int64_t BlockEmitter::countSums(ArrayRef<LoopItem> items) {
  int64_t sums = 0;
  for (const LoopItem &item : items)
    sums += llvm::count_if(
        item.passes, [](const ColumnPass &pass) { return !pass.isLast(); });
  return sums;
}

void BlockEmitter::emitColumns(const LoopItem &item) {
  SmallVector<Value> sums;
  for (const ColumnPass &pass : item.passes)
    if (!pass.isLast())
      sums.push_back(code.constant(0.0));

  sums = code.forEach(item.width, sums, [&](Value column, ValueRange carried) {
    Registers registers;
    SmallVector<Value> next;
    for (const ColumnPass &pass : item.passes) {
      Value sum = pass.isLast() ? Value() : carried[next.size()];
      sum = emitPass(pass, registers, column, sum);
      if (sum)
        next.push_back(sum);
    }
    return next;
  });
  if (sums.empty())
    return;

  sums = code.sum(sums);
  auto sum = sums.begin();
  for (const ColumnPass &pass : item.passes)
    if (!pass.isLast())
      finishReduction(pass, *sum++);
}

/// Emits a pass for a column; returns the sum so far where it has one.
Value BlockEmitter::emitPass(const ColumnPass &pass, Registers &registers,
                             Value column, Value carried) {
  const Node &node = *pass.node;
  if (!pass.isLast())
    return emitReduce(pass, read(node.inputs.front(), registers, column),
                      carried);
  unsigned output = node.outputs.front();
  Value result = emitMap(pass, registers, column);
  registers[output] = result;
  if (!inRegisters[output])
    code.store(result, operands.rows.at(output), {row, column});
  return {};
}

Value BlockEmitter::read(unsigned buffer, Registers &registers, Value column) {
  Value &value = registers[buffer];
  if (!value)
    value = code.load(operands.rows.at(buffer), {row, column});
  return value;
}

Value BlockEmitter::emitMap(const ColumnPass &pass, Registers &registers,
                            Value column) {
  const Node &node = *pass.node;
  auto input = [&](unsigned i) {
    return read(node.inputs[i], registers, column);
  };
  auto weight = [&](Value of) {
    return code.load(operands.vectors.at(of), column);
  };
  return llvm::TypeSwitch<Operation *, Value>(node.op)
      .Case([&](AddOp) { return arith::AddFOp::create(b, input(0), input(1)); })
      .Case([&](ActivationOp op) {
        return emitActivation(b, op.getKind(), input(0));
      })
      .Case([&](GateOp op) {
        Value gate = emitActivation(b, op.getKind(), input(0));
        return arith::MulFOp::create(b, gate, input(1));
      })
      .Case([&](RmsNormOp op) {
        Value scaled =
            arith::MulFOp::create(b, input(0), scalars.at(&node).inverse);
        return arith::MulFOp::create(b, scaled, weight(op.getWeight()));
      })
      .Case([&](LayerNormOp op) -> Value {
        const Scalars &scalar = scalars.at(&node);
        Value centred = arith::SubFOp::create(b, input(0), scalar.mean);
        Value scaled = arith::MulFOp::create(b, centred, scalar.inverse);
        if (!op.getBias())
          return arith::MulFOp::create(b, scaled, weight(op.getWeight()));
        return math::FmaOp::create(b, scaled, weight(op.getWeight()),
                                   weight(op.getBias()));
      });
}

/// The sum of a thread's columns with one more.
Value BlockEmitter::emitReduce(const ColumnPass &pass, Value x, Value sum) {
  bool isLayerNorm = isa<LayerNormOp>(pass.node->op);
  if (isLayerNorm && pass.number == 0)
    return arith::AddFOp::create(b, sum, x);
  if (isLayerNorm)
    x = arith::SubFOp::create(b, x, scalars.at(pass.node).mean);
  return math::FmaOp::create(b, x, x, sum);
}

void BlockEmitter::finishReduction(const ColumnPass &pass, Value sum) {
  const Node &node = *pass.node;
  double width = static_cast<double>(graph.buffers[node.inputs.front()].width);
  Value mean = arith::DivFOp::create(b, sum, code.constant(width));
  Scalars &scalar = scalars[&node];
  if (isa<LayerNormOp>(node.op) && pass.number == 0) {
    scalar.mean = mean;
    return;
  }
  APFloat epsilon = isa<RmsNormOp>(node.op)
                        ? cast<RmsNormOp>(node.op).getEpsilon()
                        : cast<LayerNormOp>(node.op).getEpsilon();
  Value square =
      arith::AddFOp::create(b, mean, code.constant(epsilon.convertToDouble()));
  scalar.inverse = arith::DivFOp::create(b, code.constant(1.0),
                                         math::SqrtOp::create(b, square));
}
