//===- SluiceTypes.cpp - types and attributes of the dialect --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"
#include "sluice/Dialect/Sluice/IR/SluiceDialect.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::ir;
using llvm::APFloat;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t kvHeads, int64_t headDim) {
  // cache_c1
  if (kvHeads <= 0 || headDim <= 0)
    return emitError() << "kv_heads and head_dim must be positive, got "
                       << kvHeads << " and " << headDim;
  return success();
}

LogicalResult BlockType::verify(function_ref<InFlightDiagnostic()> emitError,
                                ElementFormat format) {
  // block_c1
  if (formatInfo(toFormat(format)).blockElements == 1)
    return emitError() << "'" << stringifyElementFormat(format)
                       << "' is not a block format: use the builtin type";
  return success();
}

LogicalResult FrameType::verify(function_ref<InFlightDiagnostic()> emitError,
                                FrameKind kind, Type activations) {
  // frame_c1
  if (activations && (kind != FrameKind::Rows || !isRows(activations)))
    return emitError() << "a frame of " << stringifyFrameKind(kind)
                       << " cannot have activations of type " << activations;
  return success();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ValueDomain, int64_t width, OperandAttr) {
  // buffer_c1
  if (width <= 0)
    return emitError() << "a buffer must have features, got " << width;
  return success();
}

LogicalResult
RopeTableType::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t rotaryDim) {
  // rope_table_c1
  if (rotaryDim <= 0 || rotaryDim % 2 != 0)
    return emitError() << "rotary_dim must be even and positive, got "
                       << rotaryDim;
  return success();
}

LogicalResult OperandAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  OperandFormat, int64_t floats) {
  // operand_c1
  if (floats <= 0)
    return emitError() << "a record must take memory, got " << floats;
  return success();
}

LogicalResult PlaceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringRef node, int64_t device) {
  // place_c1
  if (node.empty())
    return emitError() << "a place needs a node";
  // place_c2
  if (device < 0)
    return emitError() << "device must not be negative, got " << device;
  return success();
}

static bool isPositive(const APFloat &value) {
  return value.isFinite() && !value.isNegative() && !value.isZero();
}

// The generated declarations take an APFloat by value.
// NOLINTBEGIN(performance-unnecessary-value-param)
LogicalResult
LinearScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                          APFloat factor) {
  // linear_scaling_c1
  if (!isPositive(factor))
    return emitError() << "factor must be finite and positive";
  return success();
}

LogicalResult
Llama3ScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                          APFloat factor, APFloat lowFreqFactor,
                          APFloat highFreqFactor, int64_t originalContext) {
  // llama3_scaling_c1
  if (!isPositive(factor) || !isPositive(lowFreqFactor) ||
      !isPositive(highFreqFactor))
    return emitError() << "factors must be finite and positive";
  // llama3_scaling_c2
  if (!(lowFreqFactor < highFreqFactor))
    return emitError() << "low_freq_factor must be below high_freq_factor";
  // llama3_scaling_c3
  if (originalContext <= 0)
    return emitError() << "original_context must be positive, got "
                       << originalContext;
  return success();
}

LogicalResult
YarnScalingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        APFloat factor, int64_t originalContext,
                        APFloat betaFast, APFloat betaSlow,
                        APFloat attentionFactor, bool truncate) {
  // yarn_scaling_c1
  if (!isPositive(factor) || !isPositive(betaFast) || !isPositive(betaSlow) ||
      !isPositive(attentionFactor))
    return emitError() << "factors must be finite and positive";
  // yarn_scaling_c2
  if (originalContext <= 0)
    return emitError() << "original_context must be positive, got "
                       << originalContext;
  return success();
}

// NOLINTEND(performance-unnecessary-value-param)

//===----------------------------------------------------------------------===//
// Shapes and formats
//===----------------------------------------------------------------------===//

static bool isPlainFloat(Type type) {
  return isa<Float32Type, Float16Type, BFloat16Type>(type);
}

static bool isStatic(Type type, int64_t rank) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == rank && !tensor.getEncoding() &&
         llvm::all_of(tensor.getShape(), [](int64_t size) { return size > 0; });
}

// The greatest width of rows. It is far above any model's and keeps sizes
// computed from a width from overflowing.
static constexpr int64_t maxWidth = int64_t(1) << 24;

bool ir::isStepRows(Type type) { return isa<ChunkType, BatchType>(type); }

bool ir::isRows(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.isDynamicDim(0) &&
         !tensor.isDynamicDim(1) && tensor.getDimSize(1) > 0 &&
         tensor.getDimSize(1) <= maxWidth && tensor.getElementType().isF32();
}

bool ir::isVectorWeight(Type type) {
  return isStatic(type, 1) &&
         isPlainFloat(cast<RankedTensorType>(type).getElementType());
}

bool ir::isMatrixWeight(Type type) {
  if (!isStatic(type, 2))
    return false;
  Type element = cast<RankedTensorType>(type).getElementType();
  return isPlainFloat(element) || isa<BlockType>(element);
}

int64_t ir::getWidth(Type rows) {
  return cast<RankedTensorType>(rows).getDimSize(1);
}

RankedTensorType ir::getRowsType(BufferType buffer, int64_t heads) {
  return RankedTensorType::get(
      {ShapedType::kDynamic, buffer.getWidth() / heads},
      Float32Type::get(buffer.getContext()));
}

ElementFormat ir::getElementFormat(RankedTensorType weight) {
  Type element = weight.getElementType();
  if (auto block = dyn_cast<BlockType>(element))
    return block.getFormat();
  if (element.isF16())
    return ElementFormat::F16;
  if (element.isBF16())
    return ElementFormat::BF16;
  assert(element.isF32() && "not a weight's type");
  return ElementFormat::F32;
}

Type ir::getElementType(MLIRContext *context, ElementFormat format) {
  switch (format) {
  case ElementFormat::F32:
    return Float32Type::get(context);
  case ElementFormat::F16:
    return Float16Type::get(context);
  case ElementFormat::BF16:
    return BFloat16Type::get(context);
  default:
    return BlockType::get(context, format);
  }
}

std::optional<uint64_t> ir::getWeightBytes(RankedTensorType weight,
                                           ElementFormat format) {
  int64_t columns = weight.getShape().back();
  int64_t rows = weight.getRank() == 2 ? weight.getDimSize(0) : 1;
  std::optional<uint64_t> row = rowBytes(toFormat(format), columns);
  uint64_t bytes = 0;
  if (!row || __builtin_mul_overflow(*row, static_cast<uint64_t>(rows), &bytes))
    return std::nullopt;
  return bytes;
}
