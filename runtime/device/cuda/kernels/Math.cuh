//===- Math.cuh - functions that give the same bits everywhere ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The exp and tanh of the CPU backend (runtime/device/cpu/attention) in the
// same operations: the emulator, every chip and the CPU compute the same
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_MATH_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_MATH_CUH

#include "runtime/device/cuda/kernels/Primitives.cuh"

namespace sluice::cuda {

SLUICE_DEVICE float minusInfinity() { return floatOfBits(0xff800000u); }

SLUICE_DEVICE float absolute(float x) {
  return floatOfBits(bitsOfFloat(x) & 0x7fffffffu);
}

/// Returns 2^n for n from -126 to 127.
SLUICE_DEVICE float powerOfTwo(int32_t n) {
  return floatOfBits(uint32_t(n + 127) << 23);
}

/// Returns exp(x) = 2^n * exp(r), |r| <= ln(2)/2, by Cephes' polynomial. It is
/// 0 below -87.34, and NaN if x is NaN; x <= 88.
SLUICE_DEVICE float exponential(float x) {
  if (x != x)
    return x;
  if (x < -87.3365447f)
    return 0;
  // The last place of the sum is 1, so it rounds to the nearest integer, halves
  // to even.
  constexpr float magic = 12582912.0f;
  float n = (x * 1.44269504088896341f + magic) - magic;
  float r = multiplyAdd(n, -0.693359375f, x);
  r = multiplyAdd(n, 2.12194440e-4f, r);
  float p = 1.9875691500e-4f;
  p = multiplyAdd(p, r, 1.3981999507e-3f);
  p = multiplyAdd(p, r, 8.3334519073e-3f);
  p = multiplyAdd(p, r, 4.1665795894e-2f);
  p = multiplyAdd(p, r, 1.6666665459e-1f);
  p = multiplyAdd(p, r, 5.0000001201e-1f);
  p = multiplyAdd(p, r * r, r);
  p = p + 1.0f;
  return p * powerOfTwo(int32_t(n));
}

/// Returns (1 - e) / (1 + e) with e = exp(-2|x|). Near 0, where that cancels,
/// it uses the series.
SLUICE_DEVICE float hyperbolicTangent(float x) {
  float size = absolute(x);
  if (size < 0.25f) {
    float square = x * x;
    float p = 62.0f / 2835;
    p = multiplyAdd(p, square, -17.0f / 315);
    p = multiplyAdd(p, square, 2.0f / 15);
    p = multiplyAdd(p, square, -1.0f / 3);
    return multiplyAdd(p * square, x, x);
  }
  float e = exponential(size * -2.0f);
  float large = (1.0f - e) / (1.0f + e);
  return x < 0 ? -large : large;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_MATH_CUH
