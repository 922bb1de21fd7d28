//===- StepWeights.cpp - the weights that a step uses ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sluice::ir;

static FlatSymbolRefAttr getSymbol(Value weight) {
  return weight.getDefiningOp<ParamOp>().getWeightAttr();
}

static WeightUseAttr makeUse(Value weight, WeightUseKind kind,
                             bool transposed = false,
                             FlatSymbolRefAttr partner = {}) {
  return WeightUseAttr::get(weight.getContext(), getSymbol(weight), kind,
                            transposed, partner);
}

WeightUseAttr sluice::ir::getWeightUse(TaskInterface task, Value weight) {
  if (isVectorWeight(weight.getType()))
    return makeUse(weight, WeightUseKind::Vector);
  auto product = dyn_cast<TaskProductOp>(task.getOperation());
  if (!product)
    return makeUse(weight, WeightUseKind::Rows);
  // The partner lies beside the gate's weight, and is also a use of its own.
  FlatSymbolRefAttr partner;
  if (weight == product.getWeight() && product.getPartner())
    partner = getSymbol(product.getPartner());
  return makeUse(weight, WeightUseKind::Linear, product.getTransposed(),
                 partner);
}

/// Returns the weights of a task in the order in which its code needs them.
static SmallVector<Value> listWeights(TaskInterface task) {
  if (auto product = dyn_cast<TaskProductOp>(task.getOperation()))
    return {product.getWeight(), product.getPartner(), product.getBias(),
            product.getPartnerBias()};
  auto loop = dyn_cast<TaskRowsOp>(task.getOperation());
  if (!loop)
    return {};
  llvm::SetVector<Value> weights;
  for (Operation &op : loop.getRowOps())
    for (Value operand : op.getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && llvm::is_contained(loop.getWeightArguments(), argument))
        weights.insert(loop.getWeight(argument));
  // The kernel has those that no op uses as parameters, too.
  weights.insert_range(loop.getWeights());
  return weights.takeVector();
}

SmallVector<Attribute> sluice::ir::listWeightUses(StepOp step) {
  llvm::SetVector<Attribute> uses;
  for (TaskInterface task : step.getBody().getOps<TaskInterface>())
    for (Value weight : listWeights(task))
      if (weight && !isa<RopeTableType>(weight.getType()))
        uses.insert(getWeightUse(task, weight));
  return uses.takeVector();
}
