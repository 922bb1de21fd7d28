//===- ProgramWeights.cpp - checks of a program's weights -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramWeights.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace sluice::ir {

namespace {

/// The weight, or slice of a weight, that a use names.
struct NamedWeight {
  WeightOp weight; // null if there is none
  SliceOp slice;   // null for a whole weight
  RankedTensorType type;
};

} // namespace

static NamedWeight getWeight(ProgramOp program, FlatSymbolRefAttr name,
                             SymbolTableCollection &symbols) {
  Operation *named = symbols.lookupNearestSymbolFrom(program, name);
  auto slice = dyn_cast_or_null<SliceOp>(named);
  auto weight = dyn_cast_or_null<WeightOp>(named);
  if (slice) {
    weight = symbols.lookupNearestSymbolFrom<WeightOp>(program,
                                                       slice.getWeightAttr());
    return {weight, slice, slice.getTensorType()};
  }
  return {weight, slice, weight ? weight.getTensorType() : RankedTensorType()};
}

static LogicalResult verifyUse(ProgramOp program, WeightUseAttr use,
                               SymbolTableCollection &symbols) {
  NamedWeight named = getWeight(program, use.getWeight(), symbols);
  if (!named.weight)
    return program.emitOpError("uses ")
           << use.getWeight()
           << ", which is not a sluice.weight or sluice.slice";
  if (named.slice && use.getUse() == WeightUseKind::Rows)
    return program.emitOpError("looks rows up in ")
           << use.getWeight() << ", which is a part of a weight";
  bool isVector = use.getUse() == WeightUseKind::Vector;
  if (named.type.getRank() != (isVector ? 1 : 2))
    return program.emitOpError("uses ")
           << use.getWeight() << " of type " << named.type << " as "
           << stringifyWeightUseKind(use.getUse());
  bool isLinear = use.getUse() == WeightUseKind::Linear;
  if (use.getTransposed() && !isLinear)
    return program.emitOpError("transposes ")
           << use.getWeight() << ", which is not used as linear";
  if (named.weight.getScales() && (!isLinear || use.getTransposed()))
    return program.emitOpError("uses ")
           << use.getWeight() << ", whose scales lie apart, as "
           << (isLinear ? "transposed" : stringifyWeightUseKind(use.getUse()))
           << ": only products of its rows can";
  return success();
}

LogicalResult verifyUses(ProgramOp program, SymbolTableCollection &symbols) {
  for (auto use : program.getWeights().getAsRange<WeightUseAttr>())
    if (failed(verifyUse(program, use, symbols)))
      return failure();
  return success();
}

/// Returns whether `partner` can lie in memory beside the weight of `use`: it
/// has the same type, it has an equal use of its own, and it has no partner
/// itself.
static bool isPartner(ProgramOp program, WeightUseAttr use,
                      FlatSymbolRefAttr partner,
                      SymbolTableCollection &symbols) {
  auto own = WeightUseAttr::get(program.getContext(), partner, use.getUse(),
                                use.getTransposed(), FlatSymbolRefAttr());
  auto uses = program.getWeights().getAsRange<WeightUseAttr>();
  bool hasPartner = llvm::any_of(uses, [&](WeightUseAttr other) {
    return other.getWeight() == partner && other.getPartner();
  });
  if (partner == use.getWeight() || hasPartner ||
      !llvm::is_contained(uses, own))
    return false;
  NamedWeight gate = getWeight(program, use.getWeight(), symbols);
  NamedWeight other = getWeight(program, partner, symbols);
  return gate.type == other.type &&
         gate.weight.getStored() == other.weight.getStored();
}

LogicalResult verifyPartners(ProgramOp program,
                             SymbolTableCollection &symbols) {
  llvm::SmallDenseSet<Attribute> partners;
  for (auto use : program.getWeights().getAsRange<WeightUseAttr>()) {
    FlatSymbolRefAttr partner = use.getPartner();
    if (!partner)
      continue;
    if (program.getCpu() || use.getUse() != WeightUseKind::Linear)
      return program.emitOpError("has a partner of ")
             << use.getWeight() << ", which is not a linear use for cuda";
    if (!isPartner(program, use, partner, symbols) ||
        !partners.insert(partner).second)
      return program.emitOpError("has the partner ")
             << partner << " of " << use.getWeight()
             << ", which is no other weight of its kind";
  }
  return success();
}

LogicalResult verifyListed(ProgramOp program, StepOp step) {
  llvm::SmallDenseSet<Attribute> listed, partners;
  for (auto use : program.getWeights().getAsRange<WeightUseAttr>()) {
    listed.insert(use);
    if (use.getPartner())
      partners.insert(use.getPartner());
  }
  for (Attribute use : listWeightUses(step))
    if (!listed.contains(use))
      return program.emitOpError("lacks ")
             << use << ", which its step " << program.getStepAttr() << " uses";
  // A partner has no memory of its own.
  for (TaskProductOp product : step.getBody().getOps<TaskProductOp>())
    if (FlatSymbolRefAttr weight = product.getWeightParam().getWeightAttr();
        !product.getPartner() && partners.contains(weight))
      return product.emitOpError("multiplies by ")
             << weight << " alone, which is the partner of another weight";
  return success();
}

} // namespace sluice::ir
