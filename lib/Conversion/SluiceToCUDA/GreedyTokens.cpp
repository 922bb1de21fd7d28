//===- GreedyTokens.cpp - the token of greatest logit -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockCode.h"
#include "DeviceKernels.h"

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::tocuda;

/// A vocabulary is wider than a row, and outputs are few.
static constexpr int64_t mostThreads = 1024;

static Value makeInteger(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, /*width=*/32);
}

static Value compare(ImplicitLocOpBuilder &b, arith::CmpIPredicate predicate,
                     Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, predicate, lhs, rhs);
}

/// An i32 whose order is that of the numbers: zeros are equal, and what is not
/// a number is above all others.
static Value makeKey(ImplicitLocOpBuilder &b, BlockCode &code, Value x) {
  // -0 + 0 is 0.
  Value positive = arith::AddFOp::create(b, x, code.constant(0.0));
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), positive);
  // Of negative numbers the greater bits are the lesser number.
  Value flipped = arith::XOrIOp::create(
      b, bits, makeInteger(b, std::numeric_limits<int32_t>::max()));
  Value isNegative =
      compare(b, arith::CmpIPredicate::slt, bits, makeInteger(b, 0));
  Value ordered = arith::SelectOp::create(b, isNegative, flipped, bits);
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  Value most = makeInteger(b, std::numeric_limits<int32_t>::max());
  return arith::SelectOp::create(b, isNaN, most, ordered);
}

/// The pair of a key and a token with the greater key; of equal ones that of
/// the lesser token.
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

/// The best token where its key is a finite number's, as a Sampler demands it,
/// else the complement: the host looks then at the logits itself.
static Value markUnusable(ImplicitLocOpBuilder &b, ValueRange best) {
  constexpr int64_t infinity = 0x7f800000;
  Value isAbove = compare(b, arith::CmpIPredicate::sgt, best[0],
                          makeInteger(b, -infinity - 1));
  Value isBelow =
      compare(b, arith::CmpIPredicate::slt, best[0], makeInteger(b, infinity));
  Value isFinite = arith::AndIOp::create(b, isAbove, isBelow);
  Value complement = arith::XOrIOp::create(b, best[1], makeInteger(b, -1));
  return arith::SelectOp::create(b, isFinite, best[1], complement);
}

static void emitGreedy(ImplicitLocOpBuilder &b, BlockCode &code, Value logits,
                       Value tokens, Value row, int64_t vocabulary) {
  // Below all keys: a thread without columns wins nothing.
  Value least = makeInteger(b, std::numeric_limits<int32_t>::min());
  Value none = makeInteger(b, std::numeric_limits<int32_t>::max());
  SmallVector<Value> best = code.forEach(
      vocabulary, {least, none}, [&](Value column, ValueRange carried) {
        Value key = makeKey(b, code, code.load(logits, {row, column}));
        Value token = arith::IndexCastOp::create(b, b.getI32Type(), column);
        return chooseGreater(b, carried, {key, token});
      });
  best = code.reduce(best, [&](ValueRange lhs, ValueRange rhs) {
    return chooseGreater(b, lhs, rhs);
  });
  // All threads have the same token, and store it.
  code.store(markUnusable(b, best), tokens, row);
}

std::pair<gpu::GPUFuncOp, int64_t>
DeviceKernels::getGreedy(Location loc, int64_t vocabulary) {
  int64_t threads = getThreads(vocabulary, mostThreads);
  gpu::GPUFuncOp &kernel =
      kernels["greedy_tokens x" + std::to_string(vocabulary)];
  if (kernel)
    return {kernel, threads};
  int64_t warps = threads / warpThreads;
  kernel = kernels.create(
      loc, "greedy_tokens", /*parameters=*/3, threads,
      /*sharedWords=*/warps > 1 ? 2 * warps : 0,
      IntegerType::get(loc.getContext(), 32),
      [&](ImplicitLocOpBuilder &b, ValueRange addresses, Value rows, Value row,
          Value thread, Value shared) {
        constexpr int64_t any = ShapedType::kDynamic;
        BlockCode code(b, threads, thread, shared);
        Value logits = ViewOp::create(
            b, MemRefType::get({any, vocabulary}, b.getF32Type()), addresses[1],
            rows);
        Value tokens = ViewOp::create(b, MemRefType::get({any}, b.getI32Type()),
                                      addresses[2], rows);
        emitGreedy(b, code, logits, tokens, row, vocabulary);
      });
  return {kernel, threads};
}
