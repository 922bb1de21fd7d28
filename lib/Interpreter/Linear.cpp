//===- Linear.cpp - matrix products ---------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/Ops.h"

#include "DotProduct.h"

using namespace sluice;
using namespace sluice::interpreter;

/// Multiplies by weight[out][in]. The outer loop runs over rows of the weight,
/// so that each is read from memory only once for any number of activations.
static RowData multiply(const RowData &input, const WeightData &weight,
                        const WeightData *bias, Columns columns) {
  RowData result(input.rows(), columns.end - columns.begin);
  for (int64_t o = columns.begin; o < columns.end; ++o)
    for (int64_t r = 0; r < input.rows(); ++r) {
      double sum = dotProduct(input.row(r), weight.row(o));
      result.row(r)[o - columns.begin] =
          static_cast<float>(bias ? sum + bias->data[o] : sum);
    }
  return result;
}

/// Multiplies by weight[in][out].
static RowData multiplyTransposed(const RowData &input,
                                  const WeightData &weight,
                                  const WeightData *bias, Columns columns) {
  RowData result(input.rows(), columns.end - columns.begin);
  std::vector<double> sums(weight.cols);
  for (int64_t r = 0; r < input.rows(); ++r) {
    sums.assign(weight.cols, 0);
    for (int64_t i = 0; i < weight.rows; ++i) {
      double x = input.row(r)[i];
      std::span<const float> w = weight.row(i);
      for (int64_t o = columns.begin; o < columns.end; ++o)
        sums[o] += x * w[o];
    }
    for (int64_t o = columns.begin; o < columns.end; ++o)
      result.row(r)[o - columns.begin] =
          static_cast<float>(bias ? sums[o] + bias->data[o] : sums[o]);
  }
  return result;
}

RowData sluice::interpreter::evalLinear(const RowData &input,
                                        const WeightData &weight,
                                        const WeightData *bias, bool transposed,
                                        Columns columns) {
  return transposed ? multiplyTransposed(input, weight, bias, columns)
                    : multiply(input, weight, bias, columns);
}
