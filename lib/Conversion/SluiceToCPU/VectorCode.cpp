//===- VectorCode.cpp - the emitter of vector code ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorCode.h"

#include "sluice/Dialect/Sluice/IR/ColumnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocpu;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

VectorType VectorCode::getType(int64_t size) const {
  return VectorType::get({size}, b.getF32Type());
}

Value VectorCode::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value VectorCode::addIndices(Value lhs, Value rhs) {
  return b.createOrFold<arith::AddIOp>(lhs, rhs);
}

Value VectorCode::scaleIndex(Value index, int64_t factor) {
  return b.createOrFold<arith::MulIOp>(index, this->index(factor));
}

Value VectorCode::constant(double value) {
  return buildConstant(b, getType(), value);
}

Value VectorCode::scalarConstant(double value) {
  return buildConstant(b, b.getF32Type(), value);
}

Value VectorCode::broadcast(Value scalar) {
  return vector::BroadcastOp::create(b, getType(), scalar);
}

Value VectorCode::mask(int64_t set, int64_t size) {
  SmallVector<bool> bits(size, false);
  std::fill_n(bits.begin(), set, true);
  auto type = VectorType::get({size}, b.getI1Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, bits));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value VectorCode::load(Value memref, ValueRange indices, Value mask,
                       int64_t size) {
  if (!mask)
    return vector::LoadOp::create(b, getType(size), memref, indices);
  Value zeros =
      arith::ConstantOp::create(b, DenseElementsAttr::get(getType(size), 0.0f));
  return vector::MaskedLoadOp::create(b, getType(size), memref, indices, mask,
                                      zeros);
}

void VectorCode::store(Value vector, Value memref, ValueRange indices,
                       Value mask) {
  if (mask)
    vector::MaskedStoreOp::create(b, memref, indices, mask, vector);
  else
    vector::StoreOp::create(b, vector, memref, indices);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> VectorCode::forEachVector(int64_t count, ValueRange initial,
                                             Body body) {
  int64_t tail = count % lanes;
  SmallVector<Value> carried(initial);
  if (count > tail) {
    auto loop = scf::ForOp::create(b, index(0), index(count - tail),
                                   index(lanes), carried);
    OpBuilder::InsertionGuard guard(b);
    // The builder adds a terminator only if no values are carried.
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next =
        body(loop.getInductionVar(), /*tail=*/0, loop.getRegionIterArgs());
    if (!carried.empty())
      scf::YieldOp::create(b, next);
    carried = loop.getResults();
  }
  if (tail)
    carried = body(index(count - tail), tail, carried);
  return carried;
}

void VectorCode::forEachVector(int64_t count,
                               function_ref<void(Value, int64_t)> body) {
  forEachVector(count, {}, [&](Value column, int64_t tail, ValueRange) {
    body(column, tail);
    return SmallVector<Value>();
  });
}

void VectorCode::forEach(int64_t count, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, index(0), index(count), index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value VectorCode::sumLanes(Value vector) {
  // vector.reduction without reassociation would add one lane after another.
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low(half), high(half);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), half);
    Value lower = vector::ShuffleOp::create(b, vector, vector, low);
    Value upper = vector::ShuffleOp::create(b, vector, vector, high);
    vector = arith::AddFOp::create(b, lower, upper);
  }
  return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
}
