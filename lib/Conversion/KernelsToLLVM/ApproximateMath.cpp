//===- ApproximateMath.cpp - polynomials for exp, tanh and erf ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sluice {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "sluice/Conversion/Passes.h.inc"
} // namespace sluice

using namespace mlir;

namespace {

/// Returns whether row loops use the op and no machine instruction computes it.
bool isApproximated(StringRef op) {
  return op == math::ExpOp::getOperationName() ||
         op == math::TanhOp::getOperationName() ||
         op == math::ErfOp::getOperationName();
}

struct ApproximateMath : sluice::impl::ApproximateMathBase<ApproximateMath> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (isApproximated(op->getName().getStringRef()))
        ++approximated;
    });
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, isApproximated);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
