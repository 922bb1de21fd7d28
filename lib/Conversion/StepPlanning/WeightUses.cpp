//===- WeightUses.cpp - the numbers of weight uses ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightUses.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

int64_t WeightUses::getIndex(Attribute use) {
  auto [entry, isNew] = indices.try_emplace(use, uses.size());
  if (isNew)
    uses.push_back(use);
  return entry->second;
}

int64_t WeightUses::getIndex(Value param, WeightUseKind use, bool transposed) {
  auto op = param.getDefiningOp<ParamOp>();
  return getIndex(WeightUseAttr::get(op.getContext(), op.getWeightAttr(), use,
                                     transposed, /*partner=*/{}));
}

int64_t WeightUses::getGatedIndex(Value gate, Value partner, bool transposed) {
  auto op = gate.getDefiningOp<ParamOp>();
  int64_t index = getIndex(WeightUseAttr::get(
      op.getContext(), op.getWeightAttr(), WeightUseKind::Linear, transposed,
      partner.getDefiningOp<ParamOp>().getWeightAttr()));
  getIndex(partner, WeightUseKind::Linear, transposed);
  return index;
}
