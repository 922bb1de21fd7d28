//===- SluiceModelOps.cpp - the layers' ops of the phase model ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include <limits>

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;

/// Checks that a vector weight has one element for each feature.
static LogicalResult verifyLength(Operation *op, StringRef what, Value weight,
                                  int64_t expected) {
  int64_t length = cast<RankedTensorType>(weight.getType()).getDimSize(0);
  if (length != expected)
    return op->emitOpError()
           << what << " has " << length << " elements, expected " << expected;
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

/// How wide a row of `heads` heads is; where that overflows, the largest
/// number: no tensor is that wide.
static int64_t featuresOf(int64_t heads, int64_t headDim) {
  int64_t features = 0;
  if (__builtin_mul_overflow(heads, headDim, &features))
    return std::numeric_limits<int64_t>::max();
  return features;
}

static int64_t bytesOf(Value weight) {
  if (!weight)
    return 0;
  auto type = cast<RankedTensorType>(weight.getType());
  return static_cast<int64_t>(
      getWeightBytes(type, getElementFormat(type)).value_or(0));
}

int64_t sluice::ir::getOperandAndResultBytesPerRow(Operation *op) {
  int64_t bytes = 0;
  auto add = [&](Type type) {
    if (isRows(type))
      bytes += getWidth(type) * static_cast<int64_t>(sizeof(float));
  };
  llvm::for_each(op->getOperandTypes(), add);
  llvm::for_each(op->getResultTypes(), add);
  return bytes;
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
      parser.parseRParen() || parser.parseOptionalAttrDict(result.attributes) ||
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
    return emitOpError() << "the region must take one " << getInput().getType();
  return success();
}

LogicalResult LayerOp::verifyRegions() {
  // layer_c2
  Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.back());
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
  // layer_c6
  auto attentions = body.getOps<AttendOp>();
  if (std::distance(attentions.begin(), attentions.end()) > 1)
    return emitOpError("has more than one sluice.attend");
  return success();
}

RowSemantics LayerOp::getRowSemantics() {
  bool rowWise = llvm::all_of(
      getBody().getOps<RowSemanticsInterface>(), [](RowSemanticsInterface op) {
        return op.getRowSemantics() == RowSemantics::RowWise;
      });
  return rowWise ? RowSemantics::RowWise : RowSemantics::PerSequence;
}

/// Adds up one of the interface's methods over the layer's body.
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
  if (!isa_and_nonnull<LayerOp>((*this)->getParentOp()))
    return emitOpError("must stand directly in a sluice.layer");
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

int64_t EmbedOp::getBytesPerRow() {
  RankedTensorType table = getTable().getType();
  return bytesOf(getTable()) / table.getDimSize(0) +
         getOperandAndResultBytesPerRow(*this);
}

//===----------------------------------------------------------------------===//
// RmsNormOp, LayerNormOp
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  // rms_norm_c1
  if (failed(verifyLength(*this, "weight", getWeight(),
                          getWidth(getInput().getType()))))
    return failure();
  // rms_norm_c2
  return verifyEpsilon(*this, getEpsilon());
}

int64_t RmsNormOp::getFlopsPerRow() {
  return 4 * getWidth(getInput().getType());
}

int64_t RmsNormOp::getWeightBytes() { return bytesOf(getWeight()); }

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

int64_t LayerNormOp::getWeightBytes() {
  return bytesOf(getWeight()) + bytesOf(getBias());
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
  if (getTransposed() && isa<BlockType>(getWeight().getType().getElementType()))
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
  // split_qkv_c3
  int64_t queryWidth = featuresOf(heads, headDim);
  int64_t keyWidth = featuresOf(kvHeads, headDim);
  if (failed(verifyWidth(*this, "the query", getQuery(), queryWidth)) ||
      failed(verifyWidth(*this, "the key", getKey(), keyWidth)) ||
      failed(verifyWidth(*this, "the value", getValue(), keyWidth)))
    return failure();
  // split_qkv_c2
  int64_t width = 0;
  if (__builtin_add_overflow(queryWidth, featuresOf(2, keyWidth), &width))
    width = std::numeric_limits<int64_t>::max();
  return verifyWidth(*this, "the input", getInput(), width);
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
    return emitOpError() << "heads and head_dim must be positive, got " << heads
                         << " and " << headDim;
  if (failed(verifyWidth(*this, "the input", getInput(),
                         featuresOf(heads, headDim))))
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

int64_t GateOp::getFlopsPerRow() { return 13 * getWidth(getInput().getType()); }

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
  if (failed(verifyWidth(*this, "the query", getQuery(),
                         featuresOf(heads, headDim))))
    return failure();
  // attend_c3
  if (failed(verifyWidth(*this, "the key", getKey(),
                         featuresOf(kvHeads, headDim))))
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
  // attend_c9
  if (getAlibi() && !isPositive(*getAlibi()))
    return emitOpError("alibi must be finite and positive");
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
