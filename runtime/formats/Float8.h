//===- Float8.h - the 8-bit floating-point format e4m3 --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// OCP's E4M3 (8-bit Floating Point Specification, revision 1.0): a sign, four
// bits of exponent with bias 7, and three of mantissa. There are no infinities.
// Magnitude 0x7f is NaN, 0x7e is the largest number, 448; the smallest is 2^-9.
// All functions here are pure.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_FLOAT8_H
#define SLUICE_RUNTIME_FORMATS_FLOAT8_H

#include <cstdint>

namespace sluice {

constexpr float largestE4M3 = 448;

/// Returns the scale of a block whose largest magnitude is `largest`, so that
/// it becomes 448. Magnitudes near 0 have no scale by which they can be
/// divided; such a block is all zeros, with a scale of 1.
constexpr float scaleOfE4M3(float largest) {
  const float scale = largest / largestE4M3;
  return scale < 0x1p-120f ? 1 : scale;
}

/// Converts exactly.
float e4m3ToFloat(uint8_t bits);

/// Rounds to nearest even. Values beyond the largest number, also infinities,
/// become the largest number. A NaN stays a NaN, without its sign.
uint8_t floatToE4M3(float value);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_FLOAT8_H
