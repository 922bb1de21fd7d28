//===- SluiceTypes.h - types and attributes of the dialect sluice ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_DIALECT_SLUICE_IR_SLUICETYPES_H
#define SLUICE_DIALECT_SLUICE_IR_SLUICETYPES_H

#include "runtime/formats/BlockFormat.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include "sluice/Dialect/Sluice/IR/SluiceEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "sluice/Dialect/Sluice/IR/SluiceAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "sluice/Dialect/Sluice/IR/SluiceTypes.h.inc"

namespace sluice::ir {

/// Returns whether `type` describes the rows of a step: !sluice.chunk (rows of
/// one sequence) or !sluice.batch (rows of any sequences).
bool isStepRows(mlir::Type type);
/// Returns whether `type` is tensor<?xNxf32>: rows of N features, where N is at
/// most 2^24.
bool isRows(mlir::Type type);
/// Returns whether `type` is a static tensor of rank 1 of f32, f16 or bf16.
bool isVectorWeight(mlir::Type type);
/// Returns whether `type` is a static tensor of rank 2 of f32, f16, bf16 or
/// !sluice.block.
bool isMatrixWeight(mlir::Type type);

/// Returns the number of features of a row: N of tensor<?xNxf32>.
int64_t getWidth(mlir::Type rows);

/// Returns the type of a buffer's rows, tensor<?xNxf32>; or, if `heads` is not
/// 1, of the heads into which each row divides, tensor<?x(N / heads)xf32>.
mlir::RankedTensorType getRowsType(BufferType buffer, int64_t heads = 1);

/// Returns the format of a weight's elements. `weight` must be the type of a
/// weight.
ElementFormat getElementFormat(mlir::RankedTensorType weight);

/// Returns the element type that stands for a format: f32, f16, bf16 or
/// !sluice.block<...>.
mlir::Type getElementType(mlir::MLIRContext *context, ElementFormat format);

/// Returns the runtime's name for a format.
inline Format toFormat(ElementFormat format) {
  return static_cast<Format>(format);
}
static_assert(static_cast<uint32_t>(Format::F32) ==
                  static_cast<uint32_t>(ElementFormat::F32) &&
              static_cast<uint32_t>(Format::Q8_0) ==
                  static_cast<uint32_t>(ElementFormat::Q8_0) &&
              static_cast<uint32_t>(Format::E4M3) ==
                  static_cast<uint32_t>(ElementFormat::E4M3));

/// Returns the bytes of a weight in a format, or nullopt if a row is not a
/// whole number of blocks or the count overflows.
std::optional<uint64_t> getWeightBytes(mlir::RankedTensorType weight,
                                       ElementFormat format);

} // namespace sluice::ir

#endif // SLUICE_DIALECT_SLUICE_IR_SLUICETYPES_H
