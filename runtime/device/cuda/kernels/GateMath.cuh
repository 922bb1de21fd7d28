//===- GateMath.cuh - gates as generated code computes them ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The activation functions of lib/Dialect/Sluice/IR/ColumnOps.cpp in the same
// operations: with MLIR's polynomials for exp and tanh, which differ from those
// of Math.cuh. A gate has the same bits whether a product or a separate kernel
// computes it, and the same as on the CPU. A unit test compares them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GATEMATH_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GATEMATH_CUH

#include "runtime/device/cuda/kernels/KernelABI.h"
#include "runtime/device/cuda/kernels/Math.cuh"

namespace sluice::cuda {

/// Returns `x` limited to [low, high]; a NaN stays a NaN.
SLUICE_DEVICE float clampTo(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

/// Returns the largest integer that is not above x; |x| < 2^31.
SLUICE_DEVICE float floorOf(float x) {
  auto whole = float(int32_t(x));
  return whole > x ? whole - 1.0f : whole;
}

/// Computes math.exp as 2^n * exp(a). It is infinite from 88.8 on, and 0 if the
/// result would be subnormal.
SLUICE_DEVICE float gateExponential(float x) {
  if (x != x)
    return x;
  x = clampTo(x, -87.8f, 88.8f);
  float n = clampTo(floorOf(multiplyAdd(x, 1.44269502f, 0.5f)), -127, 127);
  float a = multiplyAdd(-0.693359375f, n, x);
  a = multiplyAdd(2.12194442e-4f, n, a);
  float p = multiplyAdd(a, 1.98756912e-4f, 0.00139819994f);
  p = multiplyAdd(p, a, 0.00833345205f);
  p = multiplyAdd(p, a, 0.0416657962f);
  p = multiplyAdd(p, a, 0.166666657f);
  p = multiplyAdd(p, a, 0.5f);
  p = multiplyAdd(p, a * a, a) + 1.0f;
  return p * floatOfBits(uint32_t(int32_t(n) + 127) << 23);
}

/// Computes math.tanh as a quotient of polynomials.
SLUICE_DEVICE float gateTangent(float x) {
  constexpr float maxInput = 7.99881172f;
  float near = clampTo(x, -maxInput, maxInput);
  float square = near * near;
  float p = multiplyAdd(square, -2.76076837e-16f, 2.00018794e-13f);
  p = multiplyAdd(square, p, -8.60467184e-11f);
  p = multiplyAdd(square, p, 5.12229725e-8f);
  p = multiplyAdd(square, p, 1.48572235e-5f);
  p = multiplyAdd(square, p, 6.37261954e-4f);
  p = multiplyAdd(square, p, 0.00489352457f);
  float q = multiplyAdd(square, 1.19825836e-6f, 1.18534706e-4f);
  q = multiplyAdd(square, q, 0.00226843474f);
  q = multiplyAdd(square, q, 0.00489352504f);
  float quotient = near * p / q;
  return absolute(x) < 4.0e-4f ? near : quotient;
}

/// x / (1 + exp(-x)).
SLUICE_DEVICE float silu(float x) { return x / (1.0f + gateExponential(-x)); }

/// x/2 * (1 + tanh(sqrt(2/pi) * x * (1 + 0.044715 x^2))).
SLUICE_DEVICE float geluTanh(float x) {
  float cubic = multiplyAdd(x * x, 0.044715f, 1.0f);
  float argument = x * 0.7978845608028654f * cubic;
  return x * 0.5f * (1.0f + gateTangent(argument));
}

SLUICE_DEVICE float gated(Gate gate, float x) {
  return gate == Gate::Silu ? silu(x) : geluTanh(x);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_GATEMATH_CUH
