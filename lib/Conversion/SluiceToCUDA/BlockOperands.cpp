//===- BlockOperands.cpp - rows in the form of products' operands ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code converts rows when they are made, with the same bits as
// runtime/device/cuda/kernels/OperandRows.cu, which converts existing rows. It
// does so for whole units of features.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "runtime/device/cuda/kernels/KernelABI.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;
using namespace sluice::tocuda;

/// Returns i32, or a vector of i32 if `type` is a vector of f32.
static Type toIntegers(Type type) {
  Type i32 = IntegerType::get(type.getContext(), 32);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(i32)) : i32;
}

/// Returns a constant of the type; a vector has it in all lanes.
static Value integer(ImplicitLocOpBuilder &b, Type type, int32_t value) {
  TypedAttr attribute = b.getI32IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, attribute);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// Returns the larger of two magnitudes. They compare as their bits do, with
/// NaNs above all numbers.
Value BlockEmitter::larger(Value lhs, Value rhs) {
  Type floats = lhs.getType(), integers = toIntegers(floats);
  Value largest =
      arith::MaxUIOp::create(b, arith::BitcastOp::create(b, integers, lhs),
                             arith::BitcastOp::create(b, integers, rhs));
  return arith::BitcastOp::create(b, floats, largest);
}

Value BlockEmitter::emitLargest(Value x, Value largest) {
  Type floats = x.getType(), integers = toIntegers(floats);
  Value bits = arith::BitcastOp::create(b, integers, x);
  Value magnitude =
      arith::AndIOp::create(b, bits, integer(b, integers, 0x7fffffff));
  return larger(largest, arith::BitcastOp::create(b, floats, magnitude));
}

/// Computes the power of two that scales a row from the row's largest
/// magnitude. Rows with an infinity or a NaN are not scaled and stay invalid.
void BlockEmitter::finishLargest(ToOperandOp op, Value largest) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  auto number = [&](int32_t value) { return integer(b, i32, value); };
  constexpr int32_t bias = 127, broken = 128, mantissaBits = 23; // of f32
  auto powerOfTwo = [&](Value exponent) -> Value {
    Value bits = arith::ShLIOp::create(b, exponent, number(mantissaBits));
    return arith::BitcastOp::create(b, f32, bits);
  };
  Value field = arith::ShRUIOp::create(
      b, arith::BitcastOp::create(b, i32, largest), number(mantissaBits));
  Value exponent = arith::MaxSIOp::create(
      b,
      arith::SubIOp::create(b, field,
                            number(bias + sluice::cuda::operandExponent)),
      number(sluice::cuda::minScaleExponent));
  Value isBroken = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, field,
                                         number(broken + bias));
  exponent = arith::SelectOp::create(b, isBroken, number(0), exponent);
  scalars[op].push_back(
      powerOfTwo(arith::SubIOp::create(b, number(bias), exponent)));
  Value scale = powerOfTwo(arith::AddIOp::create(b, exponent, number(bias)));
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                        code.getThread(), code.index(0));
  code.onlyIf(isFirst, [&] {
    code.store(scale, operands.operandRows.at(loop.getBuffer(op)).scales, row);
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void BlockEmitter::emitOperand(ToOperandOp op, const Turn &turn, Value x) {
  const OperandMemory &memory = operands.operandRows.at(loop.getBuffer(op));
  Type element = cast<MemRefType>(memory.rows.getType()).getElementType();
  if (countPasses(op) > 1)
    x = arith::MulFOp::create(b, x, getScalars(op).front());
  Value rounded =
      arith::TruncFOp::create(b, VectorType::get({lanes}, element), x);
  code.storeLanes(turn, rounded, memory.rows,
                  {row, code.scaleIndex(turn.number, lanes)});
  if (memory.sums)
    emitBlockSums(memory, turn, rounded);
}

/// Eight adjacent threads have the 32 features of a block.
void BlockEmitter::emitBlockSums(const OperandMemory &memory, const Turn &turn,
                                 Value rounded) {
  constexpr int64_t block = sluice::cuda::operandBlock;
  Value numbers = arith::ExtFOp::create(
      b, VectorType::get({lanes}, b.getF32Type()), rounded);
  auto lane = [&](int64_t i) -> Value {
    return vector::ExtractOp::create(b, numbers, i);
  };
  assert(lanes == 4 && "whole units have vectors of four");
  Value first = arith::AddFOp::create(b, lane(0), lane(1));
  Value second = arith::AddFOp::create(b, lane(2), lane(3));
  Value sum = code.sumNeighbours(arith::AddFOp::create(b, first, second),
                                 block / lanes);
  Value stores = code.isMultiple(code.getThread(), block / lanes);
  if (turn.isThere)
    stores = arith::AndIOp::create(b, stores, turn.isThere);
  code.onlyIf(stores, [&] {
    code.store(sum, memory.sums,
               {row, code.divideIndex(turn.number, block / lanes).first});
  });
}
