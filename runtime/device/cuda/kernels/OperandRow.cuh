//===- OperandRow.cuh - makes an operand row of products ------------------===//
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

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_OPERANDROW_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_OPERANDROW_CUH

#include "runtime/device/cuda/kernels/Math.cuh"

namespace sluice::cuda {

/// The memory of operand rows, with the fields of OperandArguments.
struct OperandOutput {
  void *operand;
  float *scales;
  float *sums;
  int32_t features;
  OperandKind kind;
};

/// `Source` has the row's numbers: load(to, at) sets to[0] .. to[7] to those
/// from `at` on, with zeros beyond the row's features.
/// `maxHeld` is how often a thread has eight numbers in registers.
template <typename Source, int maxHeld> class OperandRow {
  static constexpr int width = 8; ///< adjacent numbers of a thread

public:
  /// The block has `threads` threads, up to maxOperandThreads.
  SLUICE_MEMBER OperandRow(const OperandOutput &memory, const Source &source,
                           int32_t row, int32_t threads)
      : arg(memory), source(source), row(row),
        padded(operandFeatures(memory.features)), stride(threads * width) {}

  SLUICE_MEMBER void make() {
    float factor = 1;
    const bool isHalf = arg.kind == OperandKind::F16;
    const int32_t heldColumns = stride * maxHeld;
    if (isHalf) {
      uint32_t largest = 0;
      for (int32_t begin = 0; begin < padded; begin += heldColumns) {
        load(begin);
        largest = largestOf(largest);
      }
      int32_t exponent = scaleExponent(largest);
      factor = powerOfTwo(-exponent);
      if (threadIndex() == 0)
        arg.scales[row] = powerOfTwo(exponent);
    }
    for (int32_t begin = 0; begin < padded; begin += heldColumns) {
      if (!isHalf || padded > heldColumns)
        load(begin);
#pragma unroll
      for (int i = 0; i < maxHeld; ++i)
        store(held[i], placeOf(begin, i), factor);
    }
  }

private:
  const OperandOutput arg;
  const Source &source;
  int32_t row;
  int32_t padded, stride;
  float held[maxHeld][width];

  /// Returns the place of the thread's i-th eight numbers from `begin` on.
  SLUICE_MEMBER int32_t placeOf(int32_t begin, int i) const {
    return begin + i * stride + int32_t(threadIndex()) * width;
  }

  /// All loads are in flight before the first number is used.
  SLUICE_MEMBER void load(int32_t begin) {
#pragma unroll
    for (int i = 0; i < maxHeld; ++i)
      source.load(held[i], placeOf(begin, i));
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
      storeGlobal16(static_cast<uint16_t *>(arg.operand) +
                        int64_t(row) * padded + at,
                    pairs);
    if (arg.kind == OperandKind::F16 && arg.sums)
      storeSum(pairs, at);
  }

  SLUICE_MEMBER void storeFloats(const float (&numbers)[width],
                                 int32_t at) const {
    if (at >= padded)
      return;
    float *to = static_cast<float *>(arg.operand) + int64_t(row) * padded + at;
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
      arg.sums[int64_t(row) * operandBlocks(arg.features) + at / operandBlock] =
          sum;
  }

  SLUICE_MEMBER static float sumOfPair(uint32_t pair) {
    return halfToFloat(uint16_t(pair)) + halfToFloat(uint16_t(pair >> 16));
  }
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_OPERANDROW_CUH
