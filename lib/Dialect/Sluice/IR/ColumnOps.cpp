//===- ColumnOps.cpp - what ops compute of each feature of a row ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Dialect/Sluice/IR/ColumnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;
using namespace sluice::ir;

Value sluice::ir::buildConstant(ImplicitLocOpBuilder &b, Type type,
                                double value) {
  auto number = static_cast<float>(value);
  TypedAttr attribute = b.getF32FloatAttr(number);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, number);
  return arith::ConstantOp::create(b, attribute);
}

//===----------------------------------------------------------------------===//
// Activation functions
//===----------------------------------------------------------------------===//

static Value constant(ImplicitLocOpBuilder &b, Value like, double value) {
  return buildConstant(b, like.getType(), value);
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

Value sluice::ir::buildActivation(ImplicitLocOpBuilder &b, ActivationKind kind,
                                  Value x) {
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

Value ActivationOp::buildFeatures(ImplicitLocOpBuilder &b, ValueRange operands,
                                  ValueRange) {
  return buildActivation(b, getKind(), operands[0]);
}

Value GateOp::buildFeatures(ImplicitLocOpBuilder &b, ValueRange operands,
                            ValueRange) {
  Value gate = buildActivation(b, getKind(), operands[0]);
  return arith::MulFOp::create(b, gate, operands[1]);
}

//===----------------------------------------------------------------------===//
// Sums of rows
//===----------------------------------------------------------------------===//

Value AddOp::buildFeatures(ImplicitLocOpBuilder &b, ValueRange operands,
                           ValueRange) {
  return arith::AddFOp::create(b, operands[0], operands[1]);
}

Value AddBiasOp::buildFeatures(ImplicitLocOpBuilder &b, ValueRange operands,
                               ValueRange) {
  Value sum = operands[0];
  for (Value bias : operands.drop_front())
    sum = arith::AddFOp::create(b, sum, bias);
  return sum;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static Value mean(ImplicitLocOpBuilder &b, Value rows, Value sum) {
  auto width = static_cast<double>(getWidth(rows.getType()));
  return arith::DivFOp::create(b, sum, constant(b, sum, width));
}

// 1 / sqrt(sum / width + epsilon)
static Value inverseRoot(ImplicitLocOpBuilder &b, Value rows, Value sum,
                         const APFloat &epsilon) {
  Value square = arith::AddFOp::create(
      b, mean(b, rows, sum), constant(b, sum, epsilon.convertToDouble()));
  return arith::DivFOp::create(b, constant(b, sum, 1.0),
                               math::SqrtOp::create(b, square));
}

unsigned RmsNormOp::countSums() { return 1; }

Value RmsNormOp::buildTerm(ImplicitLocOpBuilder &b, unsigned, Value feature,
                           ValueRange, Value sum) {
  return math::FmaOp::create(b, feature, feature, sum);
}

Value RmsNormOp::buildScalar(ImplicitLocOpBuilder &b, unsigned, Value sum) {
  return inverseRoot(b, getInput(), sum, getEpsilon());
}

Value RmsNormOp::buildFeatures(ImplicitLocOpBuilder &b, ValueRange operands,
                               ValueRange scalars) {
  Value scaled = arith::MulFOp::create(b, operands[0], scalars[0]);
  return arith::MulFOp::create(b, scaled, operands[1]);
}

// The mean first, then the mean square of what is left without it.
unsigned LayerNormOp::countSums() { return 2; }

Value LayerNormOp::buildTerm(ImplicitLocOpBuilder &b, unsigned number,
                             Value feature, ValueRange scalars, Value sum) {
  if (number == 0)
    return arith::AddFOp::create(b, sum, feature);
  Value centred = arith::SubFOp::create(b, feature, scalars[0]);
  return math::FmaOp::create(b, centred, centred, sum);
}

Value LayerNormOp::buildScalar(ImplicitLocOpBuilder &b, unsigned number,
                               Value sum) {
  return number == 0 ? mean(b, getInput(), sum)
                     : inverseRoot(b, getInput(), sum, getEpsilon());
}

Value LayerNormOp::buildFeatures(ImplicitLocOpBuilder &b, ValueRange operands,
                                 ValueRange scalars) {
  Value centred = arith::SubFOp::create(b, operands[0], scalars[0]);
  Value scaled = arith::MulFOp::create(b, centred, scalars[1]);
  if (!getBias())
    return arith::MulFOp::create(b, scaled, operands[1]);
  return math::FmaOp::create(b, scaled, operands[1], operands[2]);
}
