//===- GreedyTokens.cpp - kernels that find the greatest logit ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GreedyTokens.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

/// Below all keys: no logit has been seen.
static constexpr int64_t noKey = std::numeric_limits<int32_t>::min();
/// Above all tokens.
static constexpr int64_t noToken = std::numeric_limits<int32_t>::max();

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Returns a vector of equal numbers.
static Value makeIntegers(ImplicitLocOpBuilder &b, int64_t value,
                          int64_t lanes) {
  auto type = VectorType::get({lanes}, b.getI32Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, static_cast<int32_t>(value)));
}

static Value compare(ImplicitLocOpBuilder &b, arith::CmpIPredicate predicate,
                     Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, predicate, lhs, rhs);
}

/// Returns integers that compare as the numbers do; zeros of both signs are
/// equal, and NaNs are above all numbers.
static Value makeKeys(ImplicitLocOpBuilder &b, BlockCode &code, Value x) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  // -0 + 0 is 0.
  Value positive = arith::AddFOp::create(b, x, code.constant(0.0, lanes));
  Value bits = arith::BitcastOp::create(
      b, VectorType::get({lanes}, b.getI32Type()), positive);
  Value maxKey = makeIntegers(b, std::numeric_limits<int32_t>::max(), lanes);
  // Among negative numbers, the greater bits are the lesser number.
  Value flipped = arith::XOrIOp::create(b, bits, maxKey);
  Value isNegative =
      compare(b, arith::CmpIPredicate::slt, bits, makeIntegers(b, 0, lanes));
  Value ordered = arith::SelectOp::create(b, isNegative, flipped, bits);
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(b, isNaN, maxKey, ordered);
}

/// Returns the pair of a key and a token with the greater key, or with the
/// lesser token if the keys are equal.
static SmallVector<Value> chooseGreater(ImplicitLocOpBuilder &b, ValueRange lhs,
                                        ValueRange rhs) {
  using Predicate = arith::CmpIPredicate;
  Value isGreater = compare(b, Predicate::sgt, rhs[0], lhs[0]);
  Value isEqual = compare(b, Predicate::eq, rhs[0], lhs[0]);
  Value isBefore = compare(b, Predicate::slt, rhs[1], lhs[1]);
  Value isFirst = arith::AndIOp::create(b, isEqual, isBefore);
  Value takesRight = arith::OrIOp::create(b, isGreater, isFirst);
  return {arith::SelectOp::create(b, takesRight, rhs[0], lhs[0]),
          arith::SelectOp::create(b, takesRight, rhs[1], lhs[1])};
}

//===----------------------------------------------------------------------===//
// Searching
//===----------------------------------------------------------------------===//

using Frame = KernelModule::Frame;

static Value view(ImplicitLocOpBuilder &b, Frame &frame, unsigned parameter,
                  ArrayRef<int64_t> shape, Type element) {
  return ViewOp::create(b, MemRefType::get(shape, element),
                        frame.parameters[parameter], frame.rows);
}

/// The early part of a kernel, which does nothing: the logits do not exist yet.
static void touchNothing(ImplicitLocOpBuilder &, Frame &) {}

/// Stores the token that was found if its logit is finite, as a Sampler
/// requires. Otherwise stores the token's complement, and the host searches the
/// logits itself. All threads have the same token, and all store it.
static void emitToken(ImplicitLocOpBuilder &b, Frame &frame, ValueRange best) {
  using Predicate = arith::CmpIPredicate;
  constexpr int64_t infinity = 0x7f800000;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, /*width=*/32);
  };
  Value isAbove = compare(b, Predicate::sgt, best[0], number(-infinity - 1));
  Value isBelow = compare(b, Predicate::slt, best[0], number(infinity));
  Value isFinite = arith::AndIOp::create(b, isAbove, isBelow);
  Value complement = arith::XOrIOp::create(b, best[1], number(-1));
  Value token = arith::SelectOp::create(b, isFinite, best[1], complement);
  Value tokens = view(b, frame, 2, {ShapedType::kDynamic}, b.getI32Type());
  frame.code.store(token, tokens, frame.row);
}

/// One warp chooses among the parts' results.
static constexpr RowShape mergeShape = {warpThreads, 1};

/// Returns the threads that search a row of logits.
static RowShape getSearchShape(int64_t vocabulary) {
  constexpr int64_t part = 2048, threads = 128;
  if (vocabulary <= part)
    return getBlockShape(vocabulary);
  return {threads, static_cast<int64_t>(llvm::divideCeil(vocabulary, part))};
}

/// Emits a block's search and returns the key and the token that it finds in
/// its part of the logits.
static SmallVector<Value> emitSearch(ImplicitLocOpBuilder &b, Frame &frame,
                                     int64_t vocabulary) {
  BlockCode &code = frame.code;
  Value logits =
      view(b, frame, 1, {ShapedType::kDynamic, vocabulary}, b.getF32Type());
  int64_t lanes = getLanes({vocabulary});
  SmallVector<int32_t> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(static_cast<int32_t>(lane));
  Value step = arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get({lanes}, b.getI32Type()),
                                ArrayRef<int32_t>(steps)));
  auto combine = [&](ValueRange lhs, ValueRange rhs) {
    return chooseGreater(b, lhs, rhs);
  };
  auto search = [&](ArrayRef<Turn> turns, ValueRange carried) {
    SmallVector<Value> columns, found;
    for (const Turn &turn : turns) {
      columns.push_back(code.scaleIndex(turn.number, lanes));
      found.push_back(
          code.loadLanes(logits, {frame.row, columns.back()}, lanes));
    }
    SmallVector<Value> best = llvm::to_vector(carried);
    for (auto [turn, column, x] : llvm::zip_equal(turns, columns, found)) {
      Value first = arith::IndexCastOp::create(b, b.getI32Type(), column);
      Value tokens =
          arith::AddIOp::create(b, code.broadcast(first, lanes), step);
      SmallVector<Value> next = combine(best, {makeKeys(b, code, x), tokens});
      best = {code.select(turn, next[0], best[0]),
              code.select(turn, next[1], best[1])};
    }
    return best;
  };
  SmallVector<Value> best = code.forEach(
      vocabulary / lanes,
      {makeIntegers(b, noKey, lanes), makeIntegers(b, noToken, lanes)}, search);
  return code.reduce(code.combineLanes(best, combine), combine);
}

/// Returns a kernel with parameters (count, logits, tokens), or with several
/// parts (count, logits, found), where found[output][part] is a key and a
/// token.
static gpu::GPUFuncOp getSearch(KernelModule &kernels, Location loc,
                                int64_t vocabulary) {
  gpu::GPUFuncOp &kernel =
      kernels["greedy_search x" + std::to_string(vocabulary)];
  if (kernel)
    return kernel;
  RowShape shape = getSearchShape(vocabulary);
  int64_t warps = shape.threads / warpThreads;
  ParameterUse uses[] = {ParameterUse::Number, ParameterUse::Rows,
                         ParameterUse::Result};
  Type i32 = IntegerType::get(loc.getContext(), 32);
  auto emit = [&](ImplicitLocOpBuilder &b, Frame &frame) {
    BlockCode &code = frame.code;
    SmallVector<Value> best = emitSearch(b, frame, vocabulary);
    if (shape.blocks == 1)
      return emitToken(b, frame, best);
    Value found =
        view(b, frame, 2, {ShapedType::kDynamic, 2 * shape.blocks}, i32);
    Value place = code.scaleIndex(frame.part, 2);
    code.store(best[0], found, {frame.row, place});
    code.store(best[1], found,
               {frame.row, code.addIndices(place, code.index(1))});
  };
  kernel = kernels.create(
      {.loc = loc,
       .name = shape.blocks == 1 ? "greedy_tokens" : "greedy_search",
       .parameters = uses,
       .shape = shape,
       .sharedWords = warps > 1 ? 2 * warps : 0,
       .word = i32},
      touchNothing, emit);
  return kernel;
}

/// Returns a kernel of one warp with parameters (count, found, tokens).
static gpu::GPUFuncOp getMerge(KernelModule &kernels, Location loc,
                               int64_t vocabulary) {
  gpu::GPUFuncOp &kernel =
      kernels["greedy_tokens x" + std::to_string(vocabulary)];
  if (kernel)
    return kernel;
  int64_t parts = getSearchShape(vocabulary).blocks;
  ParameterUse uses[] = {ParameterUse::Number, ParameterUse::Rows,
                         ParameterUse::Number};
  Type i32 = IntegerType::get(loc.getContext(), 32);
  auto emit = [&](ImplicitLocOpBuilder &b, Frame &frame) {
    BlockCode &code = frame.code;
    Value found = view(b, frame, 1, {ShapedType::kDynamic, 2 * parts}, i32);
    auto combine = [&](ValueRange lhs, ValueRange rhs) {
      return chooseGreater(b, lhs, rhs);
    };
    auto merge = [&](ArrayRef<Turn> turns, ValueRange carried) {
      SmallVector<Value> pairs, best = llvm::to_vector(carried);
      for (const Turn &turn : turns)
        pairs.push_back(code.loadLanes(
            found, {frame.row, code.scaleIndex(turn.number, 2)}, /*lanes=*/2));
      // A turn without an item has the first pair again, which changes nothing.
      for (Value pair : pairs)
        best = combine(best, {vector::ExtractOp::create(b, pair, 0),
                              vector::ExtractOp::create(b, pair, 1)});
      return best;
    };
    Value belowAllKeys = arith::ConstantIntOp::create(b, noKey, /*width=*/32);
    Value none = arith::ConstantIntOp::create(b, noToken, /*width=*/32);
    SmallVector<Value> best =
        code.reduce(code.forEach(parts, {belowAllKeys, none}, merge), combine);
    emitToken(b, frame, best);
  };
  kernel = kernels.create({.loc = loc,
                           .name = "greedy_tokens",
                           .parameters = uses,
                           .shape = mergeShape,
                           .sharedWords = 0,
                           .word = i32},
                          touchNothing, emit);
  return kernel;
}

SmallVector<Attribute> sluice::tocuda::getGreedyKernels(KernelModule &kernels,
                                                        TaskSampleOp task) {
  int64_t vocabulary = cast<BufferType>(task.getLogits().getType()).getWidth();
  SmallVector<Attribute> attributes = {
      kernels.getAttribute(getSearch(kernels, task.getLoc(), vocabulary),
                           getSearchShape(vocabulary))};
  if (task.getParts())
    attributes.push_back(kernels.getAttribute(
        getMerge(kernels, task.getLoc(), vocabulary), mergeShape));
  return attributes;
}

int64_t sluice::tocuda::getGreedyFloats(int64_t vocabulary) {
  int64_t parts = getSearchShape(vocabulary).blocks;
  // A key and a token take as much memory as two floats.
  return parts == 1 ? 0 : 2 * parts;
}
