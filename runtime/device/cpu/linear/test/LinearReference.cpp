//===- LinearReference.cpp - reference of linear layers in scalar code ----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/linear/test/LinearReference.h"
#include "runtime/formats/Blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace sluice;
using namespace sluice::cpu;

namespace {

/// 32 weights of a row: w[i] = scale[i / 16] * q[i] + min.
struct WeightBlock {
  int q[32];
  float scale[2];
  float min;
};

template <typename Block> Block readBlock(const uint8_t *row, int64_t index) {
  Block block;
  std::memcpy(&block, row + size_t(index) * sizeof(Block), sizeof(Block));
  return block;
}

int nibble(const uint8_t *qs, int i) {
  return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4;
}

int bit(const uint8_t *bits, int i) { return bits[i / 8] >> (i % 8) & 1; }

template <typename Quant>
WeightBlock makeBlock(uint16_t d, float min, Quant quant) {
  WeightBlock block;
  block.scale[0] = block.scale[1] = halfToFloat(d);
  block.min = min;
  for (int i = 0; i < 32; ++i)
    block.q[i] = quant(i);
  return block;
}

/// Sub-block `sub` of a q4_k or q5_k block.
template <typename Block, typename High>
WeightBlock makeSubBlock(const Block &b, int sub, High high) {
  SubScale s = kSubScale(b.scales, sub);
  const uint8_t *qs = b.qs + sub / 2 * 32;
  WeightBlock block =
      makeBlock(b.d, -(halfToFloat(b.dmin) * float(s.min)), [&](int i) {
        return (qs[i] >> (sub % 2 * 4) & 15) + 16 * high(i);
      });
  block.scale[0] = block.scale[1] = block.scale[0] * float(s.scale);
  return block;
}

/// Block `index` (of 32 elements) of a row in a quantised format.
WeightBlock weightBlock(Format format, const uint8_t *row, int64_t index) {
  int sub = int(index % 8);
  switch (format) {
  case Format::Q8_0: {
    auto b = readBlock<BlockQ80>(row, index);
    return makeBlock(b.d, 0, [&](int i) { return int{b.qs[i]}; });
  }
  case Format::Q4_0: {
    auto b = readBlock<BlockQ40>(row, index);
    return makeBlock(b.d, 0, [&](int i) { return nibble(b.qs, i) - 8; });
  }
  case Format::Q4_1: {
    auto b = readBlock<BlockQ41>(row, index);
    return makeBlock(b.d, halfToFloat(b.m),
                     [&](int i) { return nibble(b.qs, i); });
  }
  case Format::Q5_0: {
    auto b = readBlock<BlockQ50>(row, index);
    return makeBlock(b.d, 0, [&](int i) {
      return nibble(b.qs, i) + 16 * bit(b.qh, i) - 16;
    });
  }
  case Format::Q5_1: {
    auto b = readBlock<BlockQ51>(row, index);
    return makeBlock(b.d, halfToFloat(b.m), [&](int i) {
      return nibble(b.qs, i) + 16 * bit(b.qh, i);
    });
  }
  case Format::Q4_K:
    return makeSubBlock(readBlock<BlockQ4K>(row, index / 8), sub,
                        [](int) { return 0; });
  case Format::Q5_K: {
    auto b = readBlock<BlockQ5K>(row, index / 8);
    return makeSubBlock(b, sub, [&](int i) { return b.qh[i] >> sub & 1; });
  }
  case Format::Q6_K: {
    auto b = readBlock<BlockQ6K>(row, index / 8);
    WeightBlock block = makeBlock(
        b.d, 0, [&](int i) { return int(q6KElement(b, 32 * sub + i)) - 32; });
    for (int half = 0; half < 2; ++half)
      block.scale[half] = halfToFloat(b.d) * float(b.scales[2 * sub + half]);
    return block;
  }
  default:
    return {};
  }
}

bool hasMin(Format format) {
  return format == Format::Q4_1 || format == Format::Q5_1 ||
         format == Format::Q4_K || format == Format::Q5_K;
}

int dot(const WeightBlock &w, const QuantizedBlock &x, int from, int to) {
  int sum = 0;
  for (int i = from; i < to; ++i)
    sum += w.q[i] * x.q[i];
  return sum;
}

/// Returns one output from a row of blocks, in the order of sums of Linear.h.
float quantizedSum(Format format, const uint8_t *row, const QuantizedBlock *x,
                   int64_t cols) {
  float sum = 0;
  for (int64_t b = 0; b < cols / activationBlock; ++b) {
    WeightBlock w = weightBlock(format, row, b);
    if (format == Format::Q6_K) {
      for (int half = 0; half < 2; ++half)
        sum = std::fma(float(dot(w, x[b], 16 * half, 16 * half + 16)),
                       w.scale[half] * x[b].scale, sum);
      continue;
    }
    sum = std::fma(float(dot(w, x[b], 0, 32)), w.scale[0] * x[b].scale, sum);
    if (hasMin(format))
      sum = std::fma(w.min, x[b].scaledSum, sum);
  }
  return sum;
}

/// Computes the values of row `index` of the weight, in the format in which it
/// is stored.
void storedRow(const LinearSpec &spec, const uint8_t *src, int64_t index,
               float *values) {
  if (!spec.transposed) {
    uint64_t bytes = rowBytes(spec.stored, spec.inFeatures).value_or(0);
    dequantizeRow(spec.stored, src + uint64_t(index) * bytes, values,
                  spec.inFeatures);
    return;
  }
  auto element = uint64_t(formatInfo(spec.stored).blockBytes);
  for (int64_t k = 0; k < spec.inFeatures; ++k)
    dequantizeRow(spec.stored,
                  src + uint64_t(k * spec.outFeatures + index) * element,
                  values + k, 1);
}

} // namespace

/// Quantises the activationBlock floats at x.
static QuantizedBlock quantizedBlock(const float *x) {
  QuantizedBlock block = {};
  float largest = 0;
  for (int64_t i = 0; i < activationBlock; ++i) {
    if (!std::isfinite(x[i])) {
      block.scale = block.scaledSum = NAN;
      return block;
    }
    largest = std::max(largest, std::fabs(x[i]));
  }
  if (largest < std::ldexp(1.0f, -100))
    return block;
  float inverse = 127.0f / largest;
  int sum = 0, lowSum = 0;
  for (int64_t i = 0; i < activationBlock; ++i) {
    block.q[i] = int8_t(std::nearbyint(x[i] * inverse));
    sum += block.q[i];
    lowSum += i < activationBlock / 2 ? block.q[i] : 0;
  }
  block.scale = largest / 127.0f;
  block.scaledSum = block.scale * float(sum);
  block.negativeSum = -sum;
  block.negativeSumLow = -lowSum;
  return block;
}

void cpu::quantizeReference(const float *x, QuantizedBlock *q, int64_t blocks) {
  for (int64_t b = 0; b < blocks; ++b)
    q[b] = quantizedBlock(x + b * activationBlock);
}

void cpu::linearReference(const LinearSpec &spec, const void *source,
                          const void *x, const float *bias, float *y,
                          int64_t rows) {
  const auto *src = static_cast<const uint8_t *>(source);
  int64_t cols = spec.inFeatures;
  bool quantized = takesQuantizedRows(packedKind(spec.format));
  bool asStored = spec.stored == spec.format && !spec.transposed;
  std::vector<float> values(static_cast<size_t>(cols));
  std::vector<uint8_t> row(rowBytes(spec.format, cols).value_or(0));
  for (int64_t out = 0; out < spec.outFeatures; ++out) {
    if (asStored) {
      std::memcpy(row.data(), src + uint64_t(out) * row.size(), row.size());
    } else {
      storedRow(spec, src, out, values.data());
      quantizeRow(spec.format, values.data(), row.data(), cols);
    }
    if (!quantized)
      dequantizeRow(spec.format, row.data(), values.data(), cols);
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      if (quantized)
        sum = quantizedSum(spec.format, row.data(),
                           static_cast<const QuantizedBlock *>(x) +
                               r * (cols / activationBlock),
                           cols);
      else
        for (int64_t k = 0; k < cols; ++k)
          sum = std::fma(static_cast<const float *>(x)[r * cols + k],
                         values[size_t(k)], sum);
      y[r * spec.outFeatures + out] = bias ? sum + bias[out] : sum;
    }
  }
}
