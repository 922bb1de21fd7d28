//===- BlockCode.cpp - pieces of code for a block of threads ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockCode.h"

#include "lib/Conversion/StepPlanning/ActivationCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sluice::tocuda;

int64_t sluice::tocuda::getThreads(int64_t columns, int64_t most) {
  auto wanted = static_cast<int64_t>(
      llvm::PowerOf2Ceil(static_cast<uint64_t>(columns + 3) / 4));
  return std::clamp(wanted, warpThreads, most);
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

Value BlockCode::constant(double value) {
  return planning::emitConstant(b, b.getF32Type(), value);
}

Value BlockCode::load(Value memref, ValueRange indices) {
  return memref::LoadOp::create(b, memref, indices);
}

void BlockCode::store(Value value, Value memref, ValueRange indices) {
  memref::StoreOp::create(b, value, memref, indices);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> BlockCode::forEach(int64_t count, ValueRange initial,
                                      Body body) {
  auto loop =
      scf::ForOp::create(b, thread, index(count), index(threads), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  // With values to carry the builder leaves the terminator to us.
  if (!initial.empty())
    scf::YieldOp::create(b, next);
  return loop.getResults();
}

void BlockCode::forEach(int64_t count, function_ref<void(Value)> body) {
  forEach(count, {}, [&](Value column, ValueRange) {
    body(column);
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Between threads
//===----------------------------------------------------------------------===//

SmallVector<Value> BlockCode::reduceLanes(SmallVector<Value> values,
                                          int64_t lanes, Combine combine) {
  for (int64_t distance = lanes / 2; distance >= 1; distance /= 2) {
    SmallVector<Value> others;
    for (Value value : values)
      others.push_back(gpu::ShuffleOp::create(b, value,
                                              static_cast<int32_t>(distance),
                                              static_cast<int32_t>(warpThreads),
                                              gpu::ShuffleMode::XOR)
                           .getShuffleResult());
    values = combine(values, others);
  }
  return values;
}

SmallVector<Value> BlockCode::reduce(ValueRange values, Combine combine) {
  SmallVector<Value> ofWarp =
      reduceLanes(llvm::to_vector(values), warpThreads, combine);
  int64_t warps = threads / warpThreads;
  if (warps == 1)
    return ofWarp;

  auto [warp, lane] = divideIndex(thread, warpThreads);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, index(0));
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (auto [i, value] : llvm::enumerate(ofWarp))
      store(
          value, shared,
          addIndices(warp, index((reduced + static_cast<int64_t>(i)) * warps)));
  }
  barrier();
  Value other = divideIndex(thread, warps).second;
  SmallVector<Value> ofWarps;
  for (size_t i = 0; i < values.size(); ++i)
    ofWarps.push_back(load(
        shared,
        addIndices(other, index((reduced + static_cast<int64_t>(i)) * warps))));
  reduced += static_cast<int64_t>(values.size());
  return reduceLanes(ofWarps, warps, combine);
}

SmallVector<Value> BlockCode::sum(ValueRange values) {
  return reduce(values, [&](ValueRange lhs, ValueRange rhs) {
    SmallVector<Value> sums;
    for (auto [a, c] : llvm::zip_equal(lhs, rhs))
      sums.push_back(arith::AddFOp::create(b, a, c));
    return sums;
  });
}

void BlockCode::barrier() { gpu::BarrierOp::create(b); }
