//===- BlockCode.cpp - code that all threads of a block run ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockCode.h"

#include "sluice/Dialect/Sluice/IR/ColumnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace sluice::tocuda;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Returns how many threads have `each` columns each: a power of two up to
/// `maxThreads`.
static int64_t getThreads(int64_t columns, int64_t each, int64_t maxThreads) {
  auto wanted = static_cast<int64_t>(llvm::PowerOf2Ceil(
      static_cast<uint64_t>(llvm::divideCeil(columns, each))));
  return std::clamp(wanted, warpThreads, maxThreads);
}

RowShape sluice::tocuda::getBlockShape(int64_t columns) {
  constexpr int64_t maxThreads = 1024;
  // With more than 16 columns for each thread there is a loop, for which 64
  // registers for each thread are too few.
  return {getThreads(columns, 8,
                     columns <= 16 * maxThreads ? maxThreads : maxThreads / 2),
          1};
}

RowShape sluice::tocuda::getSpreadShape(int64_t columns) {
  constexpr int64_t maxBlocks = 32;
  int64_t threads = getThreads(columns, 4, 128);
  auto blocks =
      static_cast<int64_t>(llvm::divideCeil(columns, int64_t(4) * threads));
  return {threads, std::min(blocks, maxBlocks)};
}

int64_t RowShape::countTurns(int64_t count) const {
  return static_cast<int64_t>(llvm::divideCeil(count, getWorkers()));
}

int64_t sluice::tocuda::getLanes(ArrayRef<int64_t> widths) {
  int64_t lanes = 4;
  for (int64_t width : widths)
    lanes = std::gcd(lanes, width);
  return lanes;
}

//===----------------------------------------------------------------------===//
// Values and memory
//===----------------------------------------------------------------------===//

Value BlockCode::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value BlockCode::addIndices(Value lhs, Value rhs) {
  return b.createOrFold<arith::AddIOp>(lhs, rhs);
}

Value BlockCode::scaleIndex(Value index, int64_t factor) {
  return b.createOrFold<arith::MulIOp>(index, this->index(factor));
}

std::pair<Value, Value> BlockCode::divideIndex(Value index, int64_t divisor) {
  Value by = this->index(divisor);
  return {b.createOrFold<arith::DivUIOp>(index, by),
          b.createOrFold<arith::RemUIOp>(index, by)};
}

Value BlockCode::constant(double value, int64_t lanes) {
  return ir::buildConstant(b, VectorType::get({lanes}, b.getF32Type()), value);
}

Value BlockCode::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(
      b, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value BlockCode::load(Value memref, ValueRange indices) {
  return memref::LoadOp::create(b, memref, indices);
}

void BlockCode::store(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(b, value, memref, indices);
}

/// A vector is aligned to its size.
static llvm::MaybeAlign getAlignment(VectorType type) {
  return llvm::MaybeAlign(static_cast<uint64_t>(
      type.getNumElements() * type.getElementTypeBitWidth() / 8));
}

Value BlockCode::loadLanes(Value memref, ValueRange indices, int64_t lanes) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  auto type = VectorType::get({lanes}, element);
  return vector::LoadOp::create(b, type, memref, indices,
                                /*nontemporal=*/false, getAlignment(type));
}

void BlockCode::storeLanes(const Turn &turn, Value vector, Value memref,
                           ValueRange indices) {
  onlyIf(turn.isThere, [&] {
    vector::StoreOp::create(b, vector, memref, indices, /*nontemporal=*/false,
                            getAlignment(cast<VectorType>(vector.getType())));
  });
}

void BlockCode::onlyIf(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value BlockCode::isMultiple(Value index, int64_t of) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                               divideIndex(index, of).second, this->index(0));
}

Value BlockCode::select(const Turn &turn, Value value, Value otherwise) {
  if (!turn.isThere)
    return value;
  return arith::SelectOp::create(b, turn.isThere, value, otherwise);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Makes the turn of a number. If `isSure` is true, the number is below the
/// count in any case.
Turn BlockCode::makeTurn(Value number, bool isSure, int64_t count) {
  if (isSure)
    return {number, {}};
  Value isThere =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, index(count));
  return {arith::SelectOp::create(b, isThere, number, index(0)), isThere};
}

SmallVector<Value> BlockCode::forEach(int64_t count, ValueRange initial,
                                      Body body) {
  int64_t workers = shape.getWorkers();
  SmallVector<Turn> turns;
  if (shape.isUnrolled(count)) {
    for (int64_t turn = 0; turn < shape.countTurns(count); ++turn)
      turns.push_back(makeTurn(addIndices(worker, index(turn * workers)),
                               (turn + 1) * workers <= count, count));
    return body(turns, initial);
  }
  int64_t step = RowShape::maxTurns * workers;
  auto loop =
      scf::ForOp::create(b, index(0), index(count), index(step), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value first = addIndices(loop.getInductionVar(), worker);
  for (int64_t turn = 0; turn < RowShape::maxTurns; ++turn)
    turns.push_back(makeTurn(addIndices(first, index(turn * workers)),
                             count % step == 0, count));
  SmallVector<Value> next = body(turns, loop.getRegionIterArgs());
  // The builder adds a terminator only if no values are carried.
  if (!initial.empty())
    scf::YieldOp::create(b, next);
  return loop.getResults();
}

void BlockCode::forEach(int64_t count,
                        function_ref<void(ArrayRef<Turn>)> body) {
  forEach(count, {}, [&](ArrayRef<Turn> turns, ValueRange) {
    body(turns);
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Between threads
//===----------------------------------------------------------------------===//

SmallVector<Value> BlockCode::combineLanes(ValueRange vectors,
                                           Combine combine) {
  SmallVector<SmallVector<Value>> lanes; // the vectors' values for each lane
  int64_t count = cast<VectorType>(vectors[0].getType()).getNumElements();
  for (int64_t lane = 0; lane < count; ++lane)
    lanes.push_back(llvm::map_to_vector(vectors, [&](Value vector) -> Value {
      return vector::ExtractOp::create(b, vector, lane);
    }));
  for (int64_t half = count / 2; half >= 1; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      lanes[lane] = combine(lanes[lane], lanes[lane + half]);
  return lanes[0];
}

Value BlockCode::shuffle(Value value, int64_t distance) {
  return gpu::ShuffleOp::create(b, value, static_cast<int32_t>(distance),
                                static_cast<int32_t>(warpThreads),
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

SmallVector<Value> BlockCode::reduceWarp(SmallVector<Value> values,
                                         int64_t lanes, Combine combine) {
  for (int64_t distance = lanes / 2; distance >= 1; distance /= 2)
    values = combine(values, llvm::map_to_vector(values, [&](Value value) {
                       return shuffle(value, distance);
                     }));
  return values;
}

SmallVector<Value> BlockCode::reduce(ValueRange values, Combine combine) {
  SmallVector<Value> ofWarp =
      reduceWarp(llvm::to_vector(values), warpThreads, combine);
  int64_t warps = shape.threads / warpThreads;
  if (warps == 1)
    return ofWarp;

  Value warp = divideIndex(thread, warpThreads).first;
  onlyIf(isMultiple(thread, warpThreads), [&] {
    for (auto [i, value] : llvm::enumerate(ofWarp))
      store(
          value, shared,
          addIndices(warp, index((reduced + static_cast<int64_t>(i)) * warps)));
  });
  barrier();
  Value other = divideIndex(thread, warps).second;
  SmallVector<Value> ofWarps;
  for (size_t i = 0; i < values.size(); ++i)
    ofWarps.push_back(load(
        shared,
        addIndices(other, index((reduced + static_cast<int64_t>(i)) * warps))));
  reduced += static_cast<int64_t>(values.size());
  return reduceWarp(ofWarps, warps, combine);
}

Value BlockCode::sumNeighbours(Value value, int64_t lanes) {
  for (int64_t distance = 1; distance < lanes; distance *= 2)
    value = arith::AddFOp::create(b, value, shuffle(value, distance));
  return value;
}

void BlockCode::barrier() { gpu::BarrierOp::create(b); }
