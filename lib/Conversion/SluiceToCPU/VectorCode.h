//===- VectorCode.h - the emitter of vector code --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All code is float32 without fast-math flags: the order of the operations here
// determines every bit of the results.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_VECTORCODE_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_VECTORCODE_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sluice::tocpu {

/// Emits code for vectors of a fixed number of lanes, a power of two.
class VectorCode {
public:
  VectorCode(mlir::ImplicitLocOpBuilder &b, int64_t lanes)
      : b(b), lanes(lanes) {}

  int64_t getLanes() const { return lanes; }
  mlir::VectorType getType(int64_t size) const;
  mlir::VectorType getType() const { return getType(lanes); }

  mlir::Value index(int64_t value);
  mlir::Value addIndices(mlir::Value lhs, mlir::Value rhs);
  mlir::Value scaleIndex(mlir::Value index, int64_t factor);
  /// Returns a vector of equal constants.
  mlir::Value constant(double value);
  /// Returns a vector with the scalar in each lane.
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value scalarConstant(double value);

  /// Loads `size` elements from where `indices` point. If there is a mask,
  /// lanes outside it are not read and become 0.
  mlir::Value load(mlir::Value memref, mlir::ValueRange indices,
                   mlir::Value mask, int64_t size);
  /// Stores a vector. If there is a mask, only its lanes are written.
  void store(mlir::Value vector, mlir::Value memref, mlir::ValueRange indices,
             mlir::Value mask);

  /// Returns a mask of the first `set` of `size` lanes.
  mlir::Value mask(int64_t set, int64_t size);

  /// Emits the work on the elements from `column` on. `tail` is 0 for a whole
  /// vector, otherwise the number of remaining elements. Receives and returns
  /// the values that are carried from vector to vector.
  using Body = llvm::function_ref<mlir::SmallVector<mlir::Value>(
      mlir::Value column, int64_t tail, mlir::ValueRange carried)>;

  /// Emits a loop over the whole vectors of `count` elements, then the tail.
  mlir::SmallVector<mlir::Value>
  forEachVector(int64_t count, mlir::ValueRange initial, Body body);
  void forEachVector(
      int64_t count,
      llvm::function_ref<void(mlir::Value column, int64_t tail)> body);

  /// Emits a loop from 0 to a constant.
  void forEach(int64_t count, llvm::function_ref<void(mlir::Value)> body);

  /// Returns the sum of a vector's lanes: halves are added until one lane is
  /// left.
  mlir::Value sumLanes(mlir::Value vector);

private:
  mlir::ImplicitLocOpBuilder &b;
  int64_t lanes;
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_VECTORCODE_H
