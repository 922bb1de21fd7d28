//===- SluiceModelOps.cpp - the layers' ops of the phase model ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include <cmath>

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

/// Checks that a vector weight has one element for each feature.
static LogicalResult verifyLength(Operation *op, StringRef what, Value weight,
                                  int64_t expected) {
  int64_t length = cast<RankedTensorType>(weight.getType()).getDimSize(0);
  if (length != expected)
    return op->emitOpError() << what << " has " << length
                             << " elements, expected " << expected;
  return success();
}

/// Checks a row's width.
static LogicalResult verifyWidth(Operation *op, StringRef what, Value rows,
                                 int64_t expected) {
  if (getWidth(rows.getType()) != expected)
    return op->emitOpError() << what << " is " << getWidth(rows.getType())
                             << " wide, expected " << expected;
  return success();
}

static LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  if (!epsilon.isFinite() || epsilon.isNegative())
    return op->emitOpError("epsilon must be finite and not negative");
  return success();
}

static bool isPositive(const APFloat &value) {
  return value.isFinite() && !value.isNegative() && !value.isZero();
}

static int64_t bytesOf(Value weight) {
  if (!weight)
    return 0;
  auto type = cast<RankedTensorType>(weight.getType());
  return static_cast<int64_t>(
      getWeightBytes(type, getElementFormat(type)).value_or(0));
}

//===----------------------------------------------------------------------===//
// LayerOp
//===----------------------------------------------------------------------===//

ParseResult LayerOp::parse(OpAsmParser &parser, OperationState &result) {
  IntegerAttr index;
  OpAsmParser::Argument argument;
  OpAsmParser::UnresolvedOperand input;
  Type type;
  if (parser.parseAttribute(index, parser.getBuilder().getI64Type()) ||
      parser.parseLParen() || parser.parseArgument(argument) ||
      parser.parseEqual() || parser.parseOperand(input) ||
      parser.parseRParen() ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(input, type, result.operands))
    return failure();
  argument.type = type;
  result.getOrAddProperties<Properties>().index = index;
  result.addTypes(type);
  return parser.parseRegion(*result.addRegion(), {argument});
}

void LayerOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getIndex() << " (" << getBody().getArgument(0) << " = "
          << getInput() << ')';
  printer.printOptionalAttrDict((*this)->getAttrs(), {"index"});
  printer << " : " << getInput().getType() << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void LayerOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  if (!region.empty() && region.getNumArguments() == 1)
    setName(region.getArgument(0), "x");
}

LogicalResult LayerOp::verify() {
  // layer_c1
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 ||
      body.getArgument(0).getType() != getInput().getType())
    return emitOpError() << "the region must take one "
                         << getInput().getType();
  // layer_c2
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValue().getType() != getInput().getType())
    return emitOpError() << "must yield " << getInput().getType();
  // layer_c3
  WalkResult captured = getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!getBody().isAncestor(operand.getParentRegion()) &&
          !isa<BatchType>(operand.getType())) {
        op->emitOpError("uses a value from outside its layer that is not the "
                        "batch");
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
  return success();
}

//===----------------------------------------------------------------------===//
// ParamOp, LayerCacheOp
//===----------------------------------------------------------------------===//

LogicalResult ParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // param_c1
  auto weight =
      symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return emitOpError() << getWeightAttr() << " is not a sluice.weight";
  // param_c2
  if (weight.getType() != getValue().getType())
    return emitOpError() << "has type " << getValue().getType() << ", but "
                         << getWeightAttr() << " is " << weight.getType();
  return success();
}

LogicalResult LayerCacheOp::verify() {
  // layer_cache_c1
  if (!(*this)->getParentOfType<LayerOp>())
    return emitOpError("must stand in a sluice.layer");
  return success();
}

int64_t SelectOutputsOp::getFlopsPerRow() { return 0; }

//===----------------------------------------------------------------------===//
// EmbedOp
//===----------------------------------------------------------------------===//

LogicalResult EmbedOp::verify() {
  ArrayRef<int64_t> shape = getTable().getType().getShape();
  // embed_c1
  if (failed(verifyWidth(*this, "the result", getResult(), shape[1])))
    return failure();
  // embed_c2
  auto model = (*this)->getParentOfType<ModelOp>();
  if (!model)
    return success();
  int64_t vocabSize = model.getVocabSize(), context = model.getContextLength();
  if (getBy() == EmbedIndex::Token && shape[0] != vocabSize)
    return emitOpError() << "the table has " << shape[0]
                         << " rows, the vocabulary " << vocabSize;
  if (getBy() == EmbedIndex::Position && shape[0] < context)
    return emitOpError() << "the table has " << shape[0]
                         << " rows, fewer than the context's " << context;
  return success();
}

int64_t EmbedOp::getFlopsPerRow() { return 0; }

//===----------------------------------------------------------------------===//
// RmsNormOp, LayerNormOp
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  // rms_norm_c1, rms_norm_c2
  if (failed(verifyLength(*this, "weight", getWeight(),
                          getWidth(getInput().getType()))))
    return failure();
  return verifyEpsilon(*this, getEpsilon());
}

int64_t RmsNormOp::getFlopsPerRow() {
  return 4 * getWidth(getInput().getType());
}

LogicalResult LayerNormOp::verify() {
  int64_t width = getWidth(getInput().getType());
  // layer_norm_c1
  if (failed(verifyLength(*this, "weight", getWeight(), width)))
    return failure();
  // layer_norm_c2
  if (getBias() && failed(verifyLength(*this, "bias", getBias(), width)))
    return failure();
  // layer_norm_c3
  return verifyEpsilon(*this, getEpsilon());
}

int64_t LayerNormOp::getFlopsPerRow() {
  return 7 * getWidth(getInput().getType());
}

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

int64_t LinearOp::getInFeatures() {
  return getWeight().getType().getDimSize(getTransposed() ? 0 : 1);
}

int64_t LinearOp::getOutFeatures() {
  return getWeight().getType().getDimSize(getTransposed() ? 1 : 0);
}

LogicalResult LinearOp::verify() {
  // linear_c1
  if (failed(verifyWidth(*this, "the input", getInput(), getInFeatures())))
    return failure();
  // linear_c2
  if (failed(verifyWidth(*this, "the result", getResult(), getOutFeatures())))
    return failure();
  // linear_c3
  if (getBias() &&
      failed(verifyLength(*this, "bias", getBias(), getOutFeatures())))
    return failure();
  // linear_c4
  if (getTransposed() &&
      isa<BlockType>(getWeight().getType().getElementType()))
    return emitOpError("a block-quantised weight cannot be transposed");
  return success();
}

int64_t LinearOp::getFlopsPerRow() {
  return 2 * getInFeatures() * getOutFeatures() +
         (getBias() ? getOutFeatures() : 0);
}

int64_t LinearOp::getWeightBytes() {
  return bytesOf(getWeight()) + bytesOf(getBias());
}

//===----------------------------------------------------------------------===//
// SplitQKVOp
//===----------------------------------------------------------------------===//

LogicalResult SplitQKVOp::verify() {
  int64_t heads = getHeads(), kvHeads = getKvHeads(), headDim = getHeadDim();
  // split_qkv_c1
  if (heads <= 0 || kvHeads <= 0 || headDim <= 0 || heads % kvHeads != 0)
    return emitOpError() << "heads must be a positive multiple of kv_heads and "
                            "head_dim positive, got "
                         << heads << ", " << kvHeads << " and " << headDim;
  // split_qkv_c2
  if (failed(verifyWidth(*this, "the input", getInput(),
                         (heads + 2 * kvHeads) * headDim)))
    return failure();
  // split_qkv_c3
  if (failed(verifyWidth(*this, "the query", getQuery(), heads * headDim)) ||
      failed(verifyWidth(*this, "the key", getKey(), kvHeads * headDim)) ||
      failed(verifyWidth(*this, "the value", getValue(), kvHeads * headDim)))
    return failure();
  return success();
}

int64_t SplitQKVOp::getFlopsPerRow() { return 0; }

//===----------------------------------------------------------------------===//
// RopeOp
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  int64_t heads = getHeads(), headDim = getHeadDim();
  int64_t rotaryDim = getRotaryDim();
  // rope_c1
  if (heads <= 0 || headDim <= 0)
    return emitOpError() << "heads and head_dim must be positive, got "
                         << heads << " and " << headDim;
  if (failed(verifyWidth(*this, "the input", getInput(), heads * headDim)))
    return failure();
  // rope_c2
  if (rotaryDim <= 0 || rotaryDim % 2 != 0 || rotaryDim > headDim)
    return emitOpError() << "rotary_dim must be even, positive and at most "
                            "head_dim "
                         << headDim << ", got " << rotaryDim;
  // rope_c3
  if (!isPositive(getBase()))
    return emitOpError("base must be finite and positive");
  // rope_c4
  if (getFactors() &&
      failed(verifyLength(*this, "factors", getFactors(), rotaryDim / 2)))
    return failure();
  // rope_c5
  if (getFactors() && getScaling())
    return emitOpError("factors and scaling exclude each other");
  return success();
}

int64_t RopeOp::getFlopsPerRow() {
  return 3 * static_cast<int64_t>(getHeads() * getRotaryDim());
}

//===----------------------------------------------------------------------===//
// ActivationOp, GateOp, AddOp
//===----------------------------------------------------------------------===//

// An exponential counts as about ten operations.
int64_t ActivationOp::getFlopsPerRow() {
  return 12 * getWidth(getInput().getType());
}

int64_t GateOp::getFlopsPerRow() {
  return 13 * getWidth(getInput().getType());
}

int64_t AddOp::getFlopsPerRow() { return getWidth(getLhs().getType()); }

//===----------------------------------------------------------------------===//
// AttendOp
//===----------------------------------------------------------------------===//

LogicalResult AttendOp::verify() {
  int64_t heads = getHeads();
  int64_t kvHeads = getCache().getType().getKvHeads();
  int64_t headDim = getCache().getType().getHeadDim();
  // attend_c1
  if (heads <= 0 || heads % kvHeads != 0)
    return emitOpError() << "heads must be a positive multiple of the cache's "
                         << kvHeads << " heads, got " << heads;
  // attend_c2
  if (failed(verifyWidth(*this, "the query", getQuery(), heads * headDim)))
    return failure();
  // attend_c3
  if (failed(verifyWidth(*this, "the key", getKey(), kvHeads * headDim)))
    return failure();
  // attend_c4
  if (!isPositive(getScale()))
    return emitOpError("scale must be finite and positive");
  // attend_c5
  if (getWindow() && static_cast<int64_t>(*getWindow()) <= 0)
    return emitOpError() << "window must be positive, got "
                         << static_cast<int64_t>(*getWindow());
  // attend_c6
  if (getSoftcap() && !isPositive(*getSoftcap()))
    return emitOpError("softcap must be finite and positive");
  return success();
}

int64_t AttendOp::getFlopsPerRow() { return 0; }

int64_t AttendOp::getFlopsPerRowAndPosition() {
  // A multiply-add per element for the score and for the weighted sum, and an
  // exponential per head.
  return static_cast<int64_t>(getHeads()) *
         (4 * getCache().getType().getHeadDim() + 10);
}

int64_t AttendOp::getCacheBytesPerPosition() {
  CacheType cache = getCache().getType();
  return 2 * cache.getKvHeads() * cache.getHeadDim() *
         static_cast<int64_t>(sizeof(float));
}
