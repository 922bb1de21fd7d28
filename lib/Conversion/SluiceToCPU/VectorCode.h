//===- VectorCode.h - pieces of vector code -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything here is float32 and without fast-math flags: what the code
// computes is fixed to the bit by the order written down here.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETOCPU_VECTORCODE_H
#define SLUICE_LIB_CONVERSION_SLUICETOCPU_VECTORCODE_H

#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sluice::tocpu {

/// Emits code on vectors of a fixed number of lanes, a power of two.
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
  /// A vector of equal constants.
  mlir::Value constant(double value);
  /// A vector of one scalar.
  mlir::Value broadcast(mlir::Value scalar);
  mlir::Value scalarConstant(double value);

  /// Loads `size` elements from where `indices` point. Where there is a mask,
  /// lanes outside of it are not read and become 0.
  mlir::Value load(mlir::Value memref, mlir::ValueRange indices,
                   mlir::Value mask, int64_t size);
  /// Stores a vector; where there is a mask, only its lanes are written.
  void store(mlir::Value vector, mlir::Value memref, mlir::ValueRange indices,
             mlir::Value mask);

  /// A mask of the first `set` of `size` lanes.
  mlir::Value mask(int64_t set, int64_t size);

  /// What is done for the elements from `column` on. `tail` is 0 for a whole
  /// vector, else the number of elements that there are. Takes and returns
  /// values that go from one vector to the next.
  using Body = llvm::function_ref<mlir::SmallVector<mlir::Value>(
      mlir::Value column, int64_t tail, mlir::ValueRange carried)>;

  /// Goes over `count` elements: a loop over whole vectors, then the tail.
  mlir::SmallVector<mlir::Value>
  forEachVector(int64_t count, mlir::ValueRange initial, Body body);
  void forEachVector(
      int64_t count,
      llvm::function_ref<void(mlir::Value column, int64_t tail)> body);

  /// A loop from 0 to a constant.
  void forEach(int64_t count, llvm::function_ref<void(mlir::Value)> body);

  /// The sum of a vector's lanes: halves are added until one is left.
  mlir::Value sumLanes(mlir::Value vector);

  /// An activation function of each lane.
  mlir::Value activation(ir::ActivationKind kind, mlir::Value x);

private:
  mlir::ImplicitLocOpBuilder &b;
  int64_t lanes;
};

} // namespace sluice::tocpu

#endif // SLUICE_LIB_CONVERSION_SLUICETOCPU_VECTORCODE_H
