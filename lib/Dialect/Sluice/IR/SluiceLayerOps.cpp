//===- SluiceLayerOps.cpp - layers, and the ops for their weights ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"

using namespace mlir;
using namespace sluice::ir;

//===----------------------------------------------------------------------===//
// LayerOp
//===----------------------------------------------------------------------===//

ParseResult LayerOp::parse(OpAsmParser &parser, OperationState &result) {
  IntegerAttr index;
  OpAsmParser::Argument argument;
  OpAsmParser::UnresolvedOperand input;
  Type type, batch;
  if (parser.parseAttribute(index, parser.getBuilder().getI64Type()) ||
      parser.parseLParen() || parser.parseArgument(argument) ||
      parser.parseEqual() || parser.parseOperand(input) ||
      parser.parseRParen() || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(input, type, result.operands))
    return failure();
  argument.type = type;
  result.getOrAddProperties<Properties>().index = index;
  result.addTypes(type);
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseType(batch))
      return failure();
    result.addTypes(batch);
  }
  return parser.parseRegion(*result.addRegion(), {argument});
}

void LayerOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getIndex() << " (" << getBody().getArgument(0) << " = "
          << getInput() << ')';
  printer.printOptionalAttrDict((*this)->getAttrs(), {"index"});
  printer << " : " << getInput().getType();
  if (getResultBatch())
    printer << ", " << getResultBatch().getType();
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void LayerOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  if (!region.empty() && region.getNumArguments() == 1)
    setName(region.getArgument(0), "x");
}

void LayerOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (!getResultBatch())
    return;
  setName(getResult(), "h");
  setName(getResultBatch(), "b");
}

LogicalResult LayerOp::verify() {
  // layer_c9
  if (auto index = static_cast<int64_t>(getIndex()); index < 0)
    return emitOpError() << "has the number " << index;
  // layer_c1
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 ||
      body.getArgument(0).getType() != getInput().getType())
    return emitOpError() << "the region must take one " << getInput().getType();
  return success();
}

LogicalResult LayerOp::verifyRegions() {
  // layer_c2
  Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield || yield.getValue().getType() != getInput().getType())
    return emitOpError() << "must yield " << getInput().getType();
  if (static_cast<bool>(yield.getBatch()) !=
      static_cast<bool>(getResultBatch()))
    return emitOpError("must yield a batch where it has one as a result, and "
                       "only there");
  // layer_c3
  WalkResult captured = getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!getBody().isAncestor(operand.getParentRegion()) &&
          !isStepRows(operand.getType())) {
        op->emitOpError("uses a value from outside its layer that is not the "
                        "batch or chunk");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (captured.wasInterrupted())
    return failure();
  // layer_c4
  auto caches = body.getOps<LayerCacheOp>();
  if (std::distance(caches.begin(), caches.end()) > 1)
    return emitOpError("has more than one sluice.layer_cache");
  // layer_c6
  auto attentions = body.getOps<AttendOp>();
  if (std::distance(attentions.begin(), attentions.end()) > 1)
    return emitOpError("has more than one sluice.attend");
  // layer_c8
  if (!body.getOps<CheckpointOp>().empty() && !getResultBatch())
    return emitOpError("has a sluice.checkpoint, but does not yield the batch");
  return success();
}

RowSemantics LayerOp::getRowSemantics() {
  bool perSequence = llvm::any_of(
      getBody().getOps<RowSemanticsInterface>(), [](RowSemanticsInterface op) {
        return op.getRowSemantics() == RowSemantics::PerSequence;
      });
  return perSequence ? RowSemantics::PerSequence : RowSemantics::RowWise;
}

/// Returns the sum of one of the interface's methods over the layer's body.
static int64_t sumOfBody(LayerOp layer, int64_t (CostInterface::*method)()) {
  int64_t sum = 0;
  for (CostInterface op : layer.getBody().getOps<CostInterface>())
    sum += (op.*method)();
  return sum;
}

int64_t LayerOp::getFlopsPerRow() {
  return sumOfBody(*this, &CostInterface::getFlopsPerRow);
}

int64_t LayerOp::getFlopsPerRowAndPosition() {
  return sumOfBody(*this, &CostInterface::getFlopsPerRowAndPosition);
}

int64_t LayerOp::getWeightBytes() {
  return sumOfBody(*this, &CostInterface::getWeightBytes);
}

int64_t LayerOp::getBytesPerRow() {
  return sumOfBody(*this, &CostInterface::getBytesPerRow);
}

int64_t LayerOp::getCacheBytesPerPosition() {
  return sumOfBody(*this, &CostInterface::getCacheBytesPerPosition);
}

int64_t LayerOp::getLinkRounds() {
  return sumOfBody(*this, &CostInterface::getLinkRounds);
}

int64_t LayerOp::getLinkBytesPerRow() {
  return sumOfBody(*this, &CostInterface::getLinkBytesPerRow);
}

//===----------------------------------------------------------------------===//
// ParamOp, ShardOp, LayerCacheOp
//===----------------------------------------------------------------------===//

LogicalResult ParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // param_c1
  Operation *weight = symbols.lookupNearestSymbolFrom(*this, getWeightAttr());
  if (!isa_and_nonnull<WeightOp, SliceOp>(weight))
    return emitOpError() << getWeightAttr()
                         << " is not a sluice.weight or sluice.slice";
  // param_c2
  auto slice = dyn_cast<SliceOp>(weight);
  Type type = slice ? slice.getType() : cast<WeightOp>(weight).getType();
  if (type != getValue().getType())
    return emitOpError() << "has type " << getValue().getType() << ", but "
                         << getWeightAttr() << " is " << type;
  return success();
}

LogicalResult ShardOp::verify() {
  // shard_c1
  Operation *frame = getFrame(*this);
  if (!isa_and_nonnull<ModelOp, StageOp>(frame) || getMembers(frame) == 1)
    return emitOpError("stands in no sluice.model or sluice.stage of a "
                       "tensor-parallel group");
  if (static_cast<int64_t>(getSlices().size()) != getMembers(frame))
    return emitOpError() << "names " << getSlices().size()
                         << " slices, but the group has " << getMembers(frame)
                         << " members";
  return success();
}

LogicalResult ShardOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto name : getSlices().getAsRange<FlatSymbolRefAttr>()) {
    // shard_c2
    FailureOr<SliceOp> slice = lookUp<SliceOp>(*this, name, symbols);
    if (failed(slice))
      return failure();
    // shard_c3
    if (slice->getType() != getValue().getType())
      return emitOpError() << "has type " << getValue().getType() << ", but "
                           << name << " is " << slice->getType();
  }
  return success();
}

LogicalResult LayerCacheOp::verify() {
  // layer_cache_c1
  if (!isa_and_nonnull<LayerOp>((*this)->getParentOp()))
    return emitOpError("must stand directly in a sluice.layer");
  return success();
}
