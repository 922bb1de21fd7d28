//===- SluiceModelOps.cpp - the layers' ops of the phase model ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowFlow.h"

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

/// Checks the width of rows.
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

/// Returns the width of a row of `heads` heads. If that overflows, returns the
/// largest number, since no tensor is that wide.
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

int64_t SelectOutputsOp::getFlopsPerRow() { return 0; }

//===----------------------------------------------------------------------===//
// EmbedOp
//===----------------------------------------------------------------------===//

LogicalResult EmbedOp::verify() {
  ArrayRef<int64_t> shape = getTable().getType().getShape();
  // embed_c1
  if (failed(verifyWidth(*this, "the result", getResult(), shape[1])))
    return failure();
  // The table in a stage or worker is checked by the pipeline.
  auto model = (*this)->getParentOfType<ModelOp>();
  if (!model)
    return success();
  return verifyTable(*this, model.getVocabSize(), model.getContextLength());
}

LogicalResult ir::verifyTable(EmbedOp op, int64_t vocabSize,
                              int64_t contextLength) {
  // embed_c2
  int64_t entries = op.getTable().getType().getDimSize(0);
  if (op.getBy() == EmbedIndex::Token && entries != vocabSize)
    return op.emitOpError() << "the table has " << entries
                            << " rows, the vocabulary " << vocabSize;
  if (op.getBy() == EmbedIndex::Position && entries < contextLength)
    return op.emitOpError()
           << "the table has " << entries << " rows, fewer than the context's "
           << contextLength;
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

/// Checks that a row divides into the heads of a norm.
static LogicalResult verifyHeads(Operation *op, Value rows, int64_t heads) {
  int64_t width = getWidth(rows.getType());
  if (heads < 1 || width % heads != 0)
    return op->emitOpError()
           << "a row of " << width << " features does not divide into " << heads
           << " heads";
  return success();
}

LogicalResult RmsNormOp::verify() {
  // rms_norm_c1
  if (failed(verifyHeads(*this, getInput(), countHeads())))
    return failure();
  // rms_norm_c2
  if (failed(verifyLength(*this, "weight", getWeight(),
                          getWidth(getInput().getType()) / countHeads())))
    return failure();
  // rms_norm_c3
  return verifyEpsilon(*this, getEpsilon());
}

int64_t RmsNormOp::getFlopsPerRow() {
  return 4 * getWidth(getInput().getType());
}

int64_t RmsNormOp::getWeightBytes() { return bytesOf(getWeight()); }

LogicalResult LayerNormOp::verify() {
  // layer_norm_c1
  if (failed(verifyHeads(*this, getInput(), countHeads())))
    return failure();
  int64_t width = getWidth(getInput().getType()) / countHeads();
  // layer_norm_c2
  if (failed(verifyLength(*this, "weight", getWeight(), width)))
    return failure();
  // layer_norm_c3
  if (getBias() && failed(verifyLength(*this, "bias", getBias(), width)))
    return failure();
  // layer_norm_c4
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

int64_t LinearOp::getFirstColumn() {
  return static_cast<int64_t>(getColumnsBegin().value_or(0));
}

int64_t LinearOp::getEndColumn() {
  return static_cast<int64_t>(getColumnsEnd().value_or(getOutFeatures()));
}

LogicalResult LinearOp::verify() {
  // linear_c1
  if (failed(verifyWidth(*this, "the input", getInput(), getInFeatures())))
    return failure();
  // linear_c5
  if (failed(verifyColumns(*this)))
    return failure();
  // linear_c2
  if (failed(verifyWidth(*this, "the result", getResult(),
                         getEndColumn() - getFirstColumn())))
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
  int64_t columns = getEndColumn() - getFirstColumn();
  return 2 * getInFeatures() * columns + (getBias() ? columns : 0);
}

int64_t LinearOp::getWeightBytes() {
  // Each column has the same number of bytes, transposed or not.
  int64_t columns = getEndColumn() - getFirstColumn();
  int64_t out = getOutFeatures();
  return bytesOf(getWeight()) / out * columns +
         bytesOf(getBias()) / out * columns;
}

//===----------------------------------------------------------------------===//
// ConcatOp
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::verify() {
  // concat_c1
  if (getInputs().empty())
    return emitOpError("needs an input");
  // concat_c2
  int64_t width = 0;
  for (Value input : getInputs())
    width += getWidth(input.getType());
  return verifyWidth(*this, "the result", getResult(), width);
}

int64_t ConcatOp::getFlopsPerRow() { return 0; }

ColumnCopies ConcatOp::getCopies() {
  ColumnCopies all;
  int64_t to = 0;
  for (Value input : getInputs()) {
    int64_t width = getWidth(input.getType());
    all.copies.push_back(
        {.source = input, .target = getResult(), .columns = width, .to = to});
    to += width;
  }
  return all;
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

ColumnCopies SplitQKVOp::getCopies() {
  // The columns of queries, keys and values, of all heads or of one group.
  auto dim = static_cast<int64_t>(getHeadDim());
  auto kvHeads = static_cast<int64_t>(getKvHeads());
  ColumnCopies all;
  all.groups = getLayout() == QKVLayout::Grouped ? kvHeads : 1;
  const int64_t widths[3] = {
      static_cast<int64_t>(getHeads()) / all.groups * dim,
      kvHeads / all.groups * dim, kvHeads / all.groups * dim};
  int64_t from = 0;
  for (auto [result, width] : llvm::zip_equal(getResults(), widths)) {
    all.copies.push_back({.source = getInput(),
                          .target = result,
                          .columns = width,
                          .from = from,
                          .fromStep = widths[0] + widths[1] + widths[2],
                          .toStep = width});
    from += width;
  }
  return all;
}

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

/// Checks the attribute that says which of a group's heads each member has.
static LogicalResult verifyFirstHeads(AttendOp op) {
  // attend_c10
  std::optional<ArrayRef<int64_t>> first = op.getFirstHeads();
  if (op.getAllHeads().has_value() != first.has_value() ||
      (first && !op.getAlibi()))
    return op.emitOpError(
        "needs both 'of' and 'from' beside alibi, or neither");
  if (!first)
    return success();
  // A worker is a single member.
  Operation *frame = getFrame(op);
  int64_t members = frame && !isa<WorkerOp>(frame) ? getMembers(frame) : 1;
  if (static_cast<int64_t>(first->size()) != members)
    return op.emitOpError() << "has the first heads of " << first->size()
                            << " members, expected " << members;
  auto all = static_cast<int64_t>(*op.getAllHeads());
  auto heads = static_cast<int64_t>(op.getHeads());
  for (int64_t head : *first)
    if (head < 0 || all < heads || head > all - heads)
      return op.emitOpError() << "has " << heads << " heads from " << head
                              << " on, which are not among " << all;
  return success();
}

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
  return verifyFirstHeads(*this);
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
