//===- OperandRows.cu - makes the operand rows of products ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block makes one row. A thread has eight of each `stride` numbers of the
// row, and keeps them in registers from the search for the largest magnitude to
// the rounding. Rows that are too wide for that are read twice.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/Math.cuh"

using namespace sluice::cuda;

namespace {

class OperandRow {
  static constexpr int width = 8; ///< adjacent numbers of a thread
  static constexpr int maxHeld = 4;

public:
  SLUICE_MEMBER OperandRow(const OperandArguments &arguments, int64_t row)
      : arg(arguments), row(row), x(arguments.x + row * arguments.features),
        padded(operandFeatures(arguments.features)),
        stride(operandThreads(arguments.features) * width) {}

  SLUICE_MEMBER void make() {
    float factor = 1;
    const bool isHalf = arg.kind == OperandKind::F16;
    const int32_t most = stride * maxHeld;
    if (isHalf) {
      uint32_t largest = 0;
      for (int32_t begin = 0; begin < padded; begin += most) {
        load(begin);
        largest = largestOf(largest);
      }
      int32_t exponent = scaleExponent(largest);
      factor = powerOfTwo(-exponent);
      if (threadIndex() == 0)
        arg.scales[row] = powerOfTwo(exponent);
    }
    for (int32_t begin = 0; begin < padded; begin += most) {
      if (!isHalf || padded > most)
        load(begin);
#pragma unroll
      for (int i = 0; i < maxHeld; ++i)
        store(held[i], placeOf(begin, i), factor);
    }
  }

private:
  const OperandArguments &arg;
  int64_t row;
  const float *x;
  int32_t padded, stride;
  float held[maxHeld][width];

  /// Returns the place of the thread's i-th eight numbers from `begin` on.
  SLUICE_MEMBER int32_t placeOf(int32_t begin, int i) const {
    return begin + i * stride + int32_t(threadIndex()) * width;
  }

  /// All loads are in flight before the first number is used.
  SLUICE_MEMBER void load(int32_t begin) {
#pragma unroll
    for (int i = 0; i < maxHeld; ++i) {
      int32_t at = placeOf(begin, i);
      // Rows of a multiple of four numbers are aligned.
      if (arg.features % 4 == 0) {
        loadFour(held[i], at);
        loadFour(held[i] + 4, at + 4);
      } else {
#pragma unroll
        for (int j = 0; j < width; ++j)
          held[i][j] = at + j < arg.features ? x[at + j] : 0.0f;
      }
    }
  }
  SLUICE_MEMBER void loadFour(float *to, int32_t at) const {
    Vector4 four = {};
    if (at < arg.features)
      four = load16(x + at);
#pragma unroll
    for (int j = 0; j < 4; ++j)
      to[j] = floatOfBits(four.word[j]);
  }

  SLUICE_MEMBER uint32_t largestOf(uint32_t largest) const {
#pragma unroll
    for (int i = 0; i < maxHeld * width; ++i) {
      uint32_t size = bitsOfFloat(held[i / width][i % width]) & 0x7fffffffu;
      largest = size > largest ? size : largest;
    }
    return largest;
  }

  /// Returns the exponent e of the row's scale, from the largest magnitudes of
  /// the threads. Magnitudes compare like their bits. Rows with an infinity or
  /// a NaN are not scaled, and stay broken.
  SLUICE_MEMBER static int32_t scaleExponent(uint32_t largest) {
    auto *warps = reinterpret_cast<uint32_t *>(sharedMemory());
    constexpr uint32_t maxWarps = maxOperandThreads / 32;
    if (threadIndex() < maxWarps)
      warps[threadIndex()] = 0;
#pragma unroll
    for (uint32_t mask = 16; mask > 0; mask /= 2) {
      uint32_t other = shuffleXor(largest, mask);
      largest = other > largest ? other : largest;
    }
    syncThreads();
    if (laneIndex() == 0)
      warps[warpIndex()] = largest;
    syncThreads();
#pragma unroll
    for (uint32_t i = 0; i < maxWarps; ++i)
      largest = warps[i] > largest ? warps[i] : largest;
    int32_t exponent = int32_t(largest >> 23) - 127;
    if (exponent == 128)
      return 0;
    exponent -= operandExponent;
    return exponent > minScaleExponent ? exponent : minScaleExponent;
  }

  /// Stores eight numbers of the operand. Whole warps call it.
  SLUICE_MEMBER void store(const float (&numbers)[width], int32_t at,
                           float factor) const {
    if (arg.kind == OperandKind::F32)
      return storeFloats(numbers, at);
    Vector4 pairs;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float low = numbers[2 * j], high = numbers[2 * j + 1];
      pairs.word[j] = arg.kind == OperandKind::F16
                          ? packHalves(low * factor, high * factor)
                          : packBfloats(low, high);
    }
    if (at < padded)
      storeGlobal16(static_cast<uint16_t *>(arg.operand) + row * padded + at,
                    pairs);
    if (arg.kind == OperandKind::F16 && arg.sums)
      storeSum(pairs, at);
  }

  SLUICE_MEMBER void storeFloats(const float (&numbers)[width],
                                 int32_t at) const {
    if (at >= padded)
      return;
    float *to = static_cast<float *>(arg.operand) + row * padded + at;
#pragma unroll
    for (int i = 0; i < width; i += 4) {
      Vector4 four;
#pragma unroll
      for (int j = 0; j < 4; ++j)
        four.word[j] = bitsOfFloat(numbers[i + j]);
      storeGlobal16(to + i, four);
    }
  }

  /// Stores the sum of a block of 32 features, which four lanes hold.
  SLUICE_MEMBER void storeSum(const Vector4 &pairs, int32_t at) const {
    float sum = (sumOfPair(pairs.word[0]) + sumOfPair(pairs.word[1])) +
                (sumOfPair(pairs.word[2]) + sumOfPair(pairs.word[3]));
    sum = sum + shuffleXor(sum, 1);
    sum = sum + shuffleXor(sum, 2);
    if (laneIndex() % 4 == 0 && at < padded)
      arg.sums[row * operandBlocks(arg.features) + at / operandBlock] = sum;
  }

  SLUICE_MEMBER static float sumOfPair(uint32_t pair) {
    return halfToFloat(uint16_t(pair)) + halfToFloat(uint16_t(pair >> 16));
  }
};

} // namespace

extern "C" SLUICE_KERNEL(maxOperandThreads)
    sluice_operand_rows(const OperandArguments arguments) {
  launchDependents();
  waitForPrior();
  int64_t row = blockX();
  if (row < *arguments.rowCount)
    OperandRow(arguments, row).make();
}
