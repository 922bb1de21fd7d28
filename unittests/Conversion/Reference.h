//===- Reference.h - the ops' formulas on one row -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the ops in double precision, as their descriptions say.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_UNITTESTS_CONVERSION_REFERENCE_H
#define SLUICE_UNITTESTS_CONVERSION_REFERENCE_H

#include "StepRunner.h"

#include "runtime/device/cpu/linear/Linear.h"
#include "sluice/Dialect/Sluice/IR/SluiceTypes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

namespace sluice::test {

using Vector = std::vector<float>;

/// Returns whether two rows have the same bits: -0 differs from 0, and a NaN
/// equals itself.
inline bool sameBits(const float *a, const float *b, size_t count) {
  auto bitsEqual = [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
  };
  return std::equal(a, a + count, b, bitsEqual);
}

inline Vector rmsNorm(const Vector &x, const Vector &weight, double epsilon) {
  double sum = 0;
  for (float value : x)
    sum += double(value) * value;
  double inverse = 1 / std::sqrt(sum / x.size() + epsilon);
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] * inverse * weight[i];
  return y;
}

inline Vector layerNorm(const Vector &x, const Vector &weight,
                        const Vector &bias, double epsilon) {
  double mean = 0, variance = 0;
  for (float value : x)
    mean += value / double(x.size());
  for (float value : x)
    variance += (value - mean) * (value - mean) / x.size();
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * weight[i] +
           (bias.empty() ? 0.0f : bias[i]);
  return y;
}

inline double activate(ir::ActivationKind kind, double x) {
  switch (kind) {
  case ir::ActivationKind::Silu:
    return x / (1 + std::exp(-x));
  case ir::ActivationKind::Gelu:
    return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
  case ir::ActivationKind::GeluTanh:
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / std::numbers::pi) *
                          (x + 0.044715 * x * x * x)));
  case ir::ActivationKind::Relu:
    return x < 0 ? 0 : x;
  }
  return 0;
}

/// Rotates every head of a row at `position`, with base 10000.
inline Vector rope(const Vector &x, ir::RopeStyle style, int64_t headDim,
                   int64_t rotary, int64_t position) {
  Vector y = x;
  int64_t heads = x.size() / headDim;
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t p = 0; p < rotary / 2; ++p) {
      double angle = position * std::pow(10000.0, -2.0 * p / rotary);
      bool isHalf = style == ir::RopeStyle::Half;
      int64_t i0 = head * headDim + (isHalf ? p : 2 * p);
      int64_t i1 = head * headDim + (isHalf ? p + rotary / 2 : 2 * p + 1);
      y[i0] = x[i0] * std::cos(angle) - x[i1] * std::sin(angle);
      y[i1] = x[i1] * std::cos(angle) + x[i0] * std::sin(angle);
    }
  return y;
}

/// Rounds a row to 8 bits in blocks, as products with quantised weights do.
inline void roundTrip(Vector &row) {
  auto count = static_cast<int64_t>(row.size());
  std::vector<cpu::QuantizedBlock> blocks(count / cpu::activationBlock);
  cpu::quantizeRows(*cpu::linearKernels("avx2"), row.data(), blocks.data(),
                    count, 0, 1);
  for (int64_t i = 0; i < count; ++i) {
    const cpu::QuantizedBlock &block = blocks[i / cpu::activationBlock];
    row[i] = block.scale * block.q[i % cpu::activationBlock];
  }
}

inline Vector linear(Vector x, const Matrix &weight, const Vector &bias = {}) {
  if (weight.isQuantized)
    roundTrip(x);
  int64_t out = weight.isTransposed ? weight.cols : weight.rows;
  int64_t in = weight.isTransposed ? weight.rows : weight.cols;
  Vector y(out);
  for (int64_t o = 0; o < out; ++o) {
    double sum = bias.empty() ? 0 : bias[o];
    for (int64_t i = 0; i < in; ++i)
      sum += double(x[i]) *
             weight.values[weight.isTransposed ? i * out + o : o * in + i];
    y[o] = sum;
  }
  return y;
}

inline Vector add(Vector x, const Vector &y) {
  for (size_t i = 0; i < x.size(); ++i)
    x[i] += y[i];
  return x;
}

/// Attention of one sequence whose rows come in order.
struct Attention {
  int64_t heads, kvHeads, headDim;
  double scale;
  std::vector<Vector> keys = {}, values = {};

  Vector operator()(const Vector &q, const Vector &k, const Vector &v) {
    keys.push_back(k);
    values.push_back(v);
    Vector out(heads * headDim);
    for (int64_t head = 0; head < heads; ++head) {
      int64_t at = head / (heads / kvHeads) * headDim;
      std::vector<double> sum(headDim);
      double total = 0;
      for (size_t p = 0; p < keys.size(); ++p) {
        double score = 0;
        for (int64_t i = 0; i < headDim; ++i)
          score += double(q[head * headDim + i]) * keys[p][at + i];
        double weight = std::exp(score * scale);
        total += weight;
        for (int64_t i = 0; i < headDim; ++i)
          sum[i] += weight * values[p][at + i];
      }
      for (int64_t i = 0; i < headDim; ++i)
        out[head * headDim + i] = sum[i] / total;
    }
    return out;
  }
};

/// Returns a row of an embedding table.
inline Vector tableRow(const Matrix &table, int64_t index) {
  auto begin = table.values.begin() + index * table.cols;
  return {begin, begin + table.cols};
}

} // namespace sluice::test

#endif // SLUICE_UNITTESTS_CONVERSION_REFERENCE_H
