//===- Execution.cpp - execution of a part by one member ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "Evaluator.h"

using namespace sluice;
using namespace sluice::interpreter;

using mlir::Operation;

void Execution::enter(mlir::Block &block) {
  const Scope *outer = levels.empty() ? nullptr : &levels.back().scope;
  levels.push_back({block.begin(), Scope(outer)});
}

void Execution::enterLayer(ir::LayerOp op) {
  Held input = scope().get(op.getInput());
  enter(op.getBody().front());
  scope().set(op.getBody().front().getArgument(0), std::move(input));
}

/// Sets the layer's results to the yielded values and frees its other rows.
void Execution::leaveLayer(ir::YieldOp op) {
  auto layer = llvm::cast<ir::LayerOp>(op->getParentOp());
  Held result = scope().get(op.getValue());
  // A layer with checkpoints also yields the batch that is left.
  std::optional<Held> batch;
  if (op.getBatch())
    batch = scope().get(op.getBatch());
  levels.pop_back();
  scope().set(layer.getResult(), std::move(result));
  if (batch)
    scope().set(layer.getResultBatch(), std::move(*batch));
}

Expected<Operation *> Execution::advance() {
  while (!passedOn) {
    Operation *op = &*levels.back().next++;
    if (llvm::isa<ir::CheckpointOp, ir::AllReduceOp, ir::AllGatherOp>(op))
      return op;
    if (auto layer = llvm::dyn_cast<ir::LayerOp>(op))
      enterLayer(layer);
    else if (auto yield = llvm::dyn_cast<ir::YieldOp>(op))
      leaveLayer(yield);
    else if (auto send = llvm::dyn_cast<ir::SendOp>(op))
      passedOn =
          std::get<std::shared_ptr<const RowData>>(scope().get(send.getRows()));
    else if (llvm::isa<ir::ReturnOp, ir::ForwardOp>(op))
      passedOn = std::get<std::shared_ptr<const RowData>>(
          scope().get(op->getOperand(0)));
    else if (Status status = evalOp(op, scope(), environment, member);
             !status.ok())
      return status;
  }
  return static_cast<Operation *>(nullptr);
}
