//===- WeightUses.cpp - how emitted code names weights --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightUses.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

int64_t WeightUses::getIndex(Value param, WeightUseKind use, bool transposed) {
  auto op = param.getDefiningOp<ParamOp>();
  Attribute attribute =
      WeightUseAttr::get(op.getContext(), op.getWeightAttr(), use, transposed);
  auto [entry, isNew] = indices.try_emplace(attribute, uses.size());
  if (isNew)
    uses.push_back(attribute);
  return entry->second;
}
