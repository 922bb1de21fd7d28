//===- HalfFloat.cpp - conversions of 16-bit floating-point numbers -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/BlockFormat.h"

#include <bit>

using namespace sluice;

float sluice::halfToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16;
  uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) // infinity, or a NaN, which keeps its payload
    return std::bit_cast<float>(sign | 0x7f800000 |
                                ((magnitude & 0x3ff) << 13));
  // Shifted into place, the bits of a half are those of a float 2^112 times
  // smaller, also for subnormal halves. The product is exact.
  float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

uint16_t sluice::floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  // A NaN becomes quiet and keeps the top of its payload.
  if (magnitude > 0x7f800000)
    return uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) // rounds to 65536 or more
    return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal: the addition rounds, and leaves the half's bits at the bottom
    // of the sum's mantissa, whose last place is 2^-24.
    float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000));
  }
  uint32_t odd = magnitude >> 13 & 1;
  return uint16_t(sign | ((magnitude - 0x38000000 + 0xfff + odd) >> 13));
}

float sluice::bfloatToFloat(uint16_t bfloat) {
  return std::bit_cast<float>(uint32_t(bfloat) << 16);
}

uint16_t sluice::floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 64);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
