//===- OperandRows.cu - rows as products take them ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block makes one row, which is small beside any weight: it is read twice,
// first for its largest magnitude.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/Math.cuh"

using namespace sluice::cuda;

namespace {

constexpr int32_t threads = operandThreads;

/// The exponent e of the row's scale. Magnitudes compare as their bits do; rows
/// with an infinity or a NaN are not scaled, and stay broken.
SLUICE_DEVICE int32_t scaleExponent(const float *x, int32_t features) {
  uint32_t largest = 0;
  for (int32_t i = int32_t(threadIndex()); i < features; i += threads) {
    uint32_t size = bitsOfFloat(x[i]) & 0x7fffffffu;
    largest = size > largest ? size : largest;
  }
#pragma unroll
  for (uint32_t mask = 16; mask > 0; mask /= 2) {
    uint32_t other = shuffleXor(largest, mask);
    largest = other > largest ? other : largest;
  }
  auto *warps = reinterpret_cast<uint32_t *>(sharedMemory());
  if (laneIndex() == 0)
    warps[warpIndex()] = largest;
  syncThreads();
#pragma unroll
  for (int i = 0; i < threads / 32; ++i)
    largest = warps[i] > largest ? warps[i] : largest;
  int32_t exponent = int32_t(largest >> 23) - 127;
  if (exponent == 128)
    return 0;
  constexpr int32_t target = 14, least = -100;
  return exponent - target > least ? exponent - target : least;
}

SLUICE_DEVICE void makeHalves(const OperandArguments &arg, const float *x,
                              int64_t row) {
  int32_t exponent = scaleExponent(x, arg.features);
  float factor = powerOfTwo(-exponent);
  if (threadIndex() == 0)
    arg.scales[row] = powerOfTwo(exponent);
  int32_t padded = operandFeatures(arg.features);
  auto *to = static_cast<uint16_t *>(arg.operand) + row * padded;
  // A warp has a block of 32 features; 128 is a multiple of the threads, so
  // whole warps go on together.
  for (int32_t i = int32_t(threadIndex()); i < padded; i += threads) {
    uint16_t half = i < arg.features ? floatToHalf(x[i] * factor) : uint16_t(0);
    to[i] = half;
    if (!arg.sums)
      continue;
    float sum = halfToFloat(half);
#pragma unroll
    for (uint32_t mask = 16; mask > 0; mask /= 2)
      sum = sum + shuffleXor(sum, mask);
    if (laneIndex() == 0)
      arg.sums[int64_t(i / 32) * arg.rowCapacity + row] = sum;
  }
}

SLUICE_DEVICE void makePlain(const OperandArguments &arg, const float *x,
                             int64_t row) {
  int32_t padded = operandFeatures(arg.features);
  auto *floats = static_cast<float *>(arg.operand) + row * padded;
  auto *bfloats = static_cast<uint16_t *>(arg.operand) + row * padded;
  for (int32_t i = int32_t(threadIndex()); i < padded; i += threads) {
    float value = i < arg.features ? x[i] : 0.0f;
    if (arg.kind == OperandKind::F32)
      floats[i] = value;
    else
      bfloats[i] = floatToBfloat(value);
  }
}

} // namespace

extern "C" SLUICE_KERNEL(threads)
    sluice_operand_rows(const OperandArguments arguments) {
  launchDependents();
  waitForPrior();
  int64_t row = blockX();
  if (row >= *arguments.rowCount)
    return;
  const float *x = arguments.x + row * arguments.features;
  if (arguments.kind == OperandKind::F16)
    makeHalves(arguments, x, row);
  else
    makePlain(arguments, x, row);
}
