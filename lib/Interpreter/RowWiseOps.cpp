//===- RowWiseOps.cpp - embedding, norms, rope, activations ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/Ops.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace sluice;
using namespace sluice::interpreter;

RowData sluice::interpreter::evalEmbed(const WeightData &table,
                                       std::span<const int32_t> indices) {
  RowData result(static_cast<int64_t>(indices.size()), table.cols);
  for (int64_t r = 0; r < result.rows(); ++r)
    std::ranges::copy(table.row(indices[r]), result.row(r).begin());
  return result;
}

/// Calls `normalise` with each of the equal parts of each row, and where its
/// result goes.
template <typename Normalise>
static RowData forEachHead(const RowData &input, int64_t heads,
                           const Normalise &normalise) {
  RowData result(input.rows(), input.width());
  const auto width = static_cast<size_t>(input.width() / heads);
  for (int64_t r = 0; r < input.rows(); ++r)
    for (size_t first = 0; first < size_t(input.width()); first += width)
      normalise(input.row(r).subspan(first, width),
                result.row(r).subspan(first, width));
  return result;
}

RowData sluice::interpreter::evalRmsNorm(const RowData &input,
                                         const WeightData &weight,
                                         int64_t heads, double epsilon) {
  return forEachHead(
      input, heads, [&](std::span<const float> x, std::span<float> y) {
        double squares = 0;
        for (float element : x)
          squares += static_cast<double>(element) * element;
        double scale =
            1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
        for (size_t i = 0; i < x.size(); ++i)
          y[i] = static_cast<float>(x[i] * scale * weight.data[i]);
      });
}

RowData sluice::interpreter::evalLayerNorm(const RowData &input,
                                           const WeightData &weight,
                                           const WeightData *bias,
                                           int64_t heads, double epsilon) {
  return forEachHead(
      input, heads, [&](std::span<const float> x, std::span<float> y) {
        const auto width = static_cast<double>(x.size());
        double sum = 0;
        for (float element : x)
          sum += element;
        double mean = sum / width;
        double squares = 0;
        for (float element : x)
          squares += (element - mean) * (element - mean);
        double scale = 1 / std::sqrt(squares / width + epsilon);
        for (size_t i = 0; i < x.size(); ++i) {
          double normal = (x[i] - mean) * scale * weight.data[i];
          y[i] = static_cast<float>(bias ? normal + bias->data[i] : normal);
        }
      });
}

QKVRows sluice::interpreter::evalSplitQKV(const RowData &input,
                                          ir::QKVLayout layout, int64_t heads,
                                          int64_t kvHeads, int64_t headDim) {
  // Both layouts consist of groups of query heads, key heads and value heads:
  // one group for each key head, or a single group.
  bool grouped = layout == ir::QKVLayout::Grouped;
  int64_t groups = grouped ? kvHeads : 1;
  int64_t queryWidth = heads / groups * headDim;
  int64_t kvWidth = kvHeads / groups * headDim;

  QKVRows result{RowData(input.rows(), heads * headDim),
                 RowData(input.rows(), kvHeads * headDim),
                 RowData(input.rows(), kvHeads * headDim)};
  for (int64_t r = 0; r < input.rows(); ++r) {
    const float *from = input.row(r).data();
    for (int64_t g = 0; g < groups; ++g) {
      std::copy_n(from, queryWidth,
                  result.query.row(r).data() + g * queryWidth);
      from += queryWidth;
      std::copy_n(from, kvWidth, result.key.row(r).data() + g * kvWidth);
      from += kvWidth;
      std::copy_n(from, kvWidth, result.value.row(r).data() + g * kvWidth);
      from += kvWidth;
    }
  }
  return result;
}

RowData
sluice::interpreter::evalRotations(std::span<const int32_t> positions,
                                   const ir::RopeFrequencies &frequencies) {
  auto pairs = static_cast<int64_t>(frequencies.inverse.size());
  RowData result(static_cast<int64_t>(positions.size()), 2 * pairs);
  for (int64_t r = 0; r < result.rows(); ++r)
    for (int64_t p = 0; p < pairs; ++p) {
      // The product is computed in float32, as in training. At large positions,
      // models have learnt with its rounding.
      float angle = static_cast<float>(positions[r]) * frequencies.inverse[p];
      double factor = frequencies.attentionFactor;
      result.row(r)[p] =
          static_cast<float>(std::cos(static_cast<double>(angle)) * factor);
      result.row(r)[pairs + p] =
          static_cast<float>(std::sin(static_cast<double>(angle)) * factor);
    }
  return result;
}

RowData sluice::interpreter::evalRotate(const RowData &input,
                                        const RowData &rotations,
                                        ir::RopeStyle style, int64_t heads,
                                        int64_t headDim) {
  int64_t pairs = rotations.width() / 2;
  // Pair p is features 2p and 2p + 1, or features p and p + pairs.
  bool interleaved = style == ir::RopeStyle::Interleaved;
  int64_t stride = interleaved ? 2 : 1;
  int64_t partner = interleaved ? 1 : pairs;

  RowData result = input;
  for (int64_t r = 0; r < input.rows(); ++r)
    for (int64_t p = 0; p < pairs; ++p) {
      double cosine = rotations.row(r)[p];
      double sine = rotations.row(r)[pairs + p];
      for (int64_t h = 0; h < heads; ++h) {
        int64_t at = h * headDim + p * stride;
        double a = input.row(r)[at];
        double b = input.row(r)[at + partner];
        result.row(r)[at] = static_cast<float>(a * cosine - b * sine);
        result.row(r)[at + partner] = static_cast<float>(b * cosine + a * sine);
      }
    }
  return result;
}

RowData sluice::interpreter::evalRope(const RowData &input,
                                      std::span<const int32_t> positions,
                                      const RopeParams &params) {
  return evalRotate(input, evalRotations(positions, params.frequencies),
                    params.style, params.heads, params.headDim);
}

float sluice::interpreter::activate(ir::ActivationKind kind, float x) {
  double v = x;
  switch (kind) {
  case ir::ActivationKind::Silu:
    return static_cast<float>(v / (1 + std::exp(-v)));
  case ir::ActivationKind::Gelu:
    return static_cast<float>(v / 2 * (1 + std::erf(v / std::numbers::sqrt2)));
  case ir::ActivationKind::GeluTanh: {
    double inner = std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v);
    return static_cast<float>(v / 2 * (1 + std::tanh(inner)));
  }
  case ir::ActivationKind::Relu:
    return std::max(x, 0.0f);
  }
  llvm_unreachable("every activation is handled");
}

RowData sluice::interpreter::evalActivation(ir::ActivationKind kind,
                                            const RowData &input) {
  RowData result(input.rows(), input.width());
  for (int64_t r = 0; r < input.rows(); ++r)
    std::ranges::transform(input.row(r), result.row(r).begin(),
                           [&](float x) { return activate(kind, x); });
  return result;
}

RowData sluice::interpreter::evalGate(ir::ActivationKind kind,
                                      const RowData &gate,
                                      const RowData &input) {
  RowData result(input.rows(), input.width());
  for (int64_t r = 0; r < input.rows(); ++r)
    std::ranges::transform(
        gate.row(r), input.row(r), result.row(r).begin(),
        [&](float g, float x) { return activate(kind, g) * x; });
  return result;
}

RowData sluice::interpreter::evalAdd(const RowData &lhs, const RowData &rhs) {
  RowData result(lhs.rows(), lhs.width());
  for (int64_t r = 0; r < lhs.rows(); ++r)
    std::ranges::transform(lhs.row(r), rhs.row(r), result.row(r).begin(),
                           [](float a, float b) { return a + b; });
  return result;
}

RowData sluice::interpreter::evalSelectOutputs(const RowData &input,
                                               const StepBatch &batch) {
  RowData result(batch.outputs(), input.width());
  for (int64_t o = 0; o < batch.outputs(); ++o)
    std::ranges::copy(input.row(batch.outputRows()[o]), result.row(o).begin());
  return result;
}

RowData
sluice::interpreter::evalConcat(std::span<const RowData *const> inputs) {
  int64_t width = 0;
  for (const RowData *input : inputs)
    width += input->width();
  RowData result(inputs.front()->rows(), width);
  for (int64_t r = 0; r < result.rows(); ++r) {
    auto out = result.row(r).begin();
    for (const RowData *input : inputs)
      out = std::ranges::copy(input->row(r), out).out;
  }
  return result;
}

RowData
sluice::interpreter::evalAllReduce(std::span<const RowData *const> inputs,
                                   std::span<const WeightData *const> biases) {
  RowData result(inputs.front()->rows(), inputs.front()->width());
  for (int64_t r = 0; r < result.rows(); ++r)
    for (int64_t i = 0; i < result.width(); ++i) {
      double sum = 0;
      for (const RowData *input : inputs)
        sum += input->row(r)[i];
      for (const WeightData *bias : biases)
        sum += bias->data[i];
      result.row(r)[i] = static_cast<float>(sum);
    }
  return result;
}

RowData
sluice::interpreter::evalAllGather(std::span<const RowData *const> inputs,
                                   int64_t width) {
  RowData result(inputs.front()->rows(), width);
  for (int64_t r = 0; r < result.rows(); ++r) {
    int64_t begin = 0;
    for (const RowData *input : inputs) {
      std::ranges::copy(input->row(r),
                        result.row(r).begin() +
                            std::min(begin, width - input->width()));
      begin += input->width();
    }
  }
  return result;
}
