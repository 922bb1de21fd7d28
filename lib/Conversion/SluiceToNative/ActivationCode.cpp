//===- ActivationCode.cpp - activation functions as ops -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivationCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;
using namespace sluice::ir;
using namespace sluice::planning;

Value sluice::planning::emitConstant(ImplicitLocOpBuilder &b, Type type,
                                     double value) {
  auto number = static_cast<float>(value);
  TypedAttr attribute = b.getF32FloatAttr(number);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, number);
  return arith::ConstantOp::create(b, attribute);
}

static Value constant(ImplicitLocOpBuilder &b, Value like, double value) {
  return emitConstant(b, like.getType(), value);
}

// x / (1 + exp(-x))
static Value silu(ImplicitLocOpBuilder &b, Value x) {
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  Value divisor = arith::AddFOp::create(b, constant(b, x, 1.0), exp);
  return arith::DivFOp::create(b, x, divisor);
}

// x / 2 * (1 + erf(x / sqrt(2)))
static Value gelu(ImplicitLocOpBuilder &b, Value x) {
  Value scaled =
      arith::MulFOp::create(b, x, constant(b, x, 1.0 / std::numbers::sqrt2));
  Value factor = arith::AddFOp::create(b, constant(b, x, 1.0),
                                       math::ErfOp::create(b, scaled));
  Value half = arith::MulFOp::create(b, x, constant(b, x, 0.5));
  return arith::MulFOp::create(b, half, factor);
}

// x / 2 * (1 + tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x^2)))
static Value geluTanh(ImplicitLocOpBuilder &b, Value x) {
  Value square = arith::MulFOp::create(b, x, x);
  Value cubic = math::FmaOp::create(b, square, constant(b, x, 0.044715),
                                    constant(b, x, 1.0));
  constexpr double slope =
      std::numbers::sqrt2 * std::numbers::inv_sqrtpi; // sqrt(2 / pi)
  Value scaled = arith::MulFOp::create(b, x, constant(b, x, slope));
  Value argument = arith::MulFOp::create(b, scaled, cubic);
  Value factor = arith::AddFOp::create(b, constant(b, x, 1.0),
                                       math::TanhOp::create(b, argument));
  Value half = arith::MulFOp::create(b, x, constant(b, x, 0.5));
  return arith::MulFOp::create(b, half, factor);
}

// Keeps NaNs, unlike a maximum.
static Value relu(ImplicitLocOpBuilder &b, Value x) {
  Value zero = constant(b, x, 0.0);
  Value isNegative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, zero);
  return arith::SelectOp::create(b, isNegative, zero, x);
}

Value sluice::planning::emitActivation(ImplicitLocOpBuilder &b,
                                       ActivationKind kind, Value x) {
  switch (kind) {
  case ActivationKind::Silu:
    return silu(b, x);
  case ActivationKind::Gelu:
    return gelu(b, x);
  case ActivationKind::GeluTanh:
    return geluTanh(b, x);
  case ActivationKind::Relu:
    return relu(b, x);
  }
  llvm_unreachable("covered switch");
}
