//===- ChooseOperands.cpp - the pass that makes products' operands --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Planning/Passes.h"

namespace sluice {
#define GEN_PASS_DEF_CHOOSEOPERANDS
#include "sluice/Planning/Passes.h.inc"
} // namespace sluice

using namespace mlir;
using namespace sluice::ir;

namespace {

struct ChooseOperands : sluice::impl::ChooseOperandsBase<ChooseOperands> {
  void runOnOperation() override {
    StepOp step = getOperation();
    if (step.isAssigned())
      return; // planned already
    target = step.getPlanTarget();
    known.clear();
    for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
      if (isa<TaskCheckpointOp>(op))
        forgetUncarried();
      else if (auto product = dyn_cast<TaskProductOp>(op))
        if (failed(visit(product)))
          return signalPassFailure();
    }
  }

private:
  LogicalResult visit(TaskProductOp product) {
    auto type = cast<BufferType>(product.getInput().getType());
    if (!type.isFloats())
      return success(); // chosen already
    FailureOr<OperandAttr> operand =
        target.getOperand(product, type.getWidth());
    if (failed(operand))
      return failure();
    if (*operand)
      product.getInputMutable().assign(getOperand(product, *operand));
    return success();
  }

  /// Returns a buffer with the product's input in the operand's format, which
  /// may already exist.
  Value getOperand(TaskProductOp product, OperandAttr operand) {
    Value input = product.getInput();
    Value &buffer = known[{input, operand}];
    if (buffer)
      return buffer;
    ++operands;
    auto type = cast<BufferType>(input.getType());
    OpBuilder b(product.getOutput().getDefiningOp());
    buffer = BufferOp::create(b, product.getLoc(),
                              BufferType::get(b.getContext(), type.getDomain(),
                                              type.getWidth(), operand),
                              IntegerAttr());
    b.setInsertionPoint(product);
    auto loop = TaskRowsOp::create(
        b, product.getLoc(), type.getDomain(), input, ValueRange(), buffer,
        cast<TaskInterface>(*product).getTaskLayer());
    b.setInsertionPointToStart(&loop.getBody().front());
    Value rows = loop.getRowArguments().front();
    auto rounded =
        ToOperandOp::create(b, product.getLoc(), rows.getType(), rows, operand);
    TaskYieldOp::create(b, product.getLoc(), rounded.getResult());
    loop.setRuntime(!target.isGenerated(rounded));
    return buffer;
  }

  /// Forgets operands that a checkpoint does not move; they are made again
  /// after it.
  void forgetUncarried() {
    for (auto [key, buffer] : llvm::make_early_inc_range(known))
      if (!target.isCarried(cast<BufferType>(buffer.getType())))
        known.erase(key);
  }

  PlanTargetInterface target;
  DenseMap<std::pair<Value, Attribute>, Value> known;
};

} // namespace
