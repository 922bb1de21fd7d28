//===- Quantize.cpp - quantizes rows --------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/Blocks.h"
#include "runtime/formats/Float8.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

using namespace sluice;

/// Returns the element of largest magnitude among `elements`, the first of
/// equal ones. Returns a NaN or an infinity if there is any, so that it shows
/// in the block's scale.
template <int elements> static float extremeOf(const float *src) {
  // Without its sign, a float's bits compare as an integer like its magnitude,
  // with infinity and NaNs above all numbers. The compiler vectorizes these two
  // loops, but not one that does both.
  uint32_t magnitudes[elements], largest = 0;
  for (int i = 0; i < elements; ++i)
    magnitudes[i] = std::bit_cast<uint32_t>(src[i]) & 0x7fffffff;
  for (int i = 0; i < elements; ++i)
    largest = std::max(largest, magnitudes[i]);
  int first = 0;
  while (magnitudes[first] != largest)
    ++first;
  return src[first];
}

/// Rounds to the nearest integer, ties away from zero, like std::round but
/// without the call. `value` is well inside the range of int.
static int roundAway(float value) {
  int whole = int(value);
  float rest = value - float(whole); // exact
  return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

static BlockQ80 quantizeQ80(const float *src) {
  BlockQ80 block = {};
  float extreme = extremeOf<32>(src);
  float d = std::fabs(extreme) / 127;
  float inverse = d != 0 ? 1.0f / d : 0.0f;
  block.d = floatToHalf(d);
  // The inverse of the smallest scales overflows. Such blocks are zero once
  // their scale is rounded to a half.
  if (!std::isfinite(extreme) || !std::isfinite(inverse))
    return block;
  for (int i = 0; i < 32; ++i)
    block.qs[i] = int8_t(roundAway(src[i] * inverse));
  return block;
}

static BlockQ40 quantizeQ40(const float *src) {
  BlockQ40 block = {};
  float extreme = extremeOf<32>(src);
  float d = extreme / -8;
  float inverse = d != 0 ? 1.0f / d : 0.0f;
  block.d = floatToHalf(d);
  if (!std::isfinite(extreme) || !std::isfinite(inverse))
    return block;
  auto nibble = [&](float value) {
    int q = int(value * inverse + 8.5f);
    return uint8_t(q > 15 ? 15 : q);
  };
  for (int i = 0; i < 16; ++i)
    block.qs[i] = uint8_t(nibble(src[i]) | (nibble(src[i + 16]) << 4));
  return block;
}

static BlockE4M3 quantizeE4M3(const float *src) {
  BlockE4M3 block = {};
  float extreme = extremeOf<128>(src);
  float d = scaleOfE4M3(std::fabs(extreme));
  block.d = std::isfinite(extreme) ? d : std::nanf("");
  if (!std::isfinite(extreme))
    return block;
  for (int i = 0; i < 128; ++i)
    block.qs[i] = floatToE4M3(src[i] / d);
  return block;
}

template <auto quantizeBlock, int blockElements = 32>
static void quantizeBlocks(const float *src, uint8_t *dst, int64_t elements) {
  for (int64_t i = 0; i < elements; i += blockElements) {
    auto block = quantizeBlock(src + i);
    std::memcpy(dst, &block, sizeof(block));
    dst += sizeof(block);
  }
}

template <uint16_t convert(float)>
static void narrowRow(const float *src, uint8_t *dst, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i) {
    uint16_t bits = convert(src[i]);
    std::memcpy(dst + i * 2, &bits, sizeof(bits));
  }
}

bool sluice::canQuantize(Format format) {
  switch (format) {
  case Format::F32:
  case Format::F16:
  case Format::BF16:
  case Format::Q8_0:
  case Format::Q4_0:
  case Format::E4M3:
    return true;
  default:
    return false;
  }
}

void sluice::quantizeRow(Format format, const float *src, void *destination,
                         int64_t elements) {
  assert(canQuantize(format));
  assert(elements % formatInfo(format).blockElements == 0);
  auto *dst = static_cast<uint8_t *>(destination);
  switch (format) {
  case Format::F32:
    if (elements > 0)
      std::memcpy(dst, src, size_t(elements) * sizeof(float));
    return;
  case Format::F16:
    return narrowRow<floatToHalf>(src, dst, elements);
  case Format::BF16:
    return narrowRow<floatToBfloat>(src, dst, elements);
  case Format::Q8_0:
    return quantizeBlocks<quantizeQ80>(src, dst, elements);
  case Format::Q4_0:
    return quantizeBlocks<quantizeQ40>(src, dst, elements);
  case Format::E4M3:
    return quantizeBlocks<quantizeE4M3, 128>(src, dst, elements);
  default:
    return;
  }
}
