//===- Float8.h - the 8-bit numbers e4m3 ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// OCP's E4M3 (8-bit Floating Point Specification, revision 1.0): a sign, four
// bits of exponent with bias 7, three of mantissa; no infinities; magnitude
// 0x7f is NaN, 0x7e the largest, 448; the smallest is 2^-9.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_FLOAT8_H
#define SLUICE_RUNTIME_FORMATS_FLOAT8_H

#include <cstdint>

namespace sluice {

constexpr float largestE4M3 = 448;

/// The scale of a block whose largest magnitude is `largest`: that becomes 448.
/// The least numbers have no scale by which they can be divided; such blocks
/// are zeros, under a scale of 1. Pure, as all here.
constexpr float scaleOfE4M3(float largest) {
  const float scale = largest / largestE4M3;
  return scale < 0x1p-120f ? 1 : scale;
}

/// Exact.
float e4m3ToFloat(uint8_t bits);

/// Rounded to nearest even; what is beyond the largest, infinities too, becomes
/// the largest; NaNs stay NaNs, without their sign.
uint8_t floatToE4M3(float value);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_FLOAT8_H
