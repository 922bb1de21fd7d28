//===- Float8.cpp - conversions of e4m3 -----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/Float8.h"
#include "runtime/formats/BlockFormat.h"

#include <bit>

using namespace sluice;

float sluice::e4m3ToFloat(uint8_t bits) {
  uint16_t sign = uint16_t((bits & 0x80) << 8), magnitude = bits & 0x7f;
  if (magnitude == 0x7f)
    return halfToFloat(sign | 0x7e00);
  // Shifted into place, the bits are those of a half 2^8 times smaller, also
  // for subnormal numbers.
  return halfToFloat(uint16_t(sign | magnitude << 7)) * 256;
}

uint8_t sluice::floatToE4M3(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint8_t sign = uint8_t(bits >> 24 & 0x80);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7f;
  if (magnitude >= std::bit_cast<uint32_t>(largestE4M3))
    return sign | 0x7e;
  if (magnitude < std::bit_cast<uint32_t>(0x1p-6f)) {
    // Subnormal: the addition rounds to the last place of 2^14, which is 2^-9.
    float sum = std::bit_cast<float>(magnitude) + 0x1p14f;
    return uint8_t(sign | (std::bit_cast<uint32_t>(sum) & 0xf));
  }
  uint32_t odd = magnitude >> 20 & 1;
  return uint8_t(sign | ((magnitude - (120u << 23) + 0x7ffff + odd) >> 20));
}
