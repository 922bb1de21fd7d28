//===- RowTail.cuh - what the last block of a launch does -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With one row, a norm takes less time than launching it. So the blocks that
// have written parts of the row take tickets, and the last of them normalises
// the row and makes it an operand.
//
// A generated kernel's block may have more threads than this one, and the order
// of its sums follows from them. Here each thread stands for several of them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ROWTAIL_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ROWTAIL_CUH

#include "runtime/device/cuda/kernels/OperandRow.cuh"

namespace sluice::cuda {

/// Normalises the row, or without `norms` takes it as it is. The block has
/// `threads` threads, and all of them call the functions.
template <int32_t threads, bool norms> class NormRow {
  static constexpr int32_t width = 4; ///< adjacent numbers that are loaded
  /// How many threads of a generated kernel a thread stands for: those whose
  /// numbers are its own plus multiples of `threads`.
  static constexpr int32_t slots = maxNormThreads / threads;
  static constexpr int32_t together = 4; ///< slots that are summed at a time

public:
  SLUICE_MEMBER explicit NormRow(const NormArguments &arguments)
      : arg(arguments) {}

  SLUICE_MEMBER void make() {
    if constexpr (norms) {
      if (arg.norm == Norm::Layer)
        mean = sum<false>() / float(arg.features);
      if (arg.norm != Norm::None)
        inverse =
            1.0f / squareRoot(sum<true>() / float(arg.features) + arg.epsilon);
    }
    if (arg.y)
      storeRow();
    if (!arg.operand)
      return;
    const OperandOutput memory = {arg.operand, arg.scales, arg.sums,
                                  arg.features, arg.kind};
    OperandRow<NormRow, 2>(memory, *this, 0, threads).make();
  }

  /// Sets eight numbers of the normalised row, with zeros beyond it.
  SLUICE_MEMBER void load(float (&to)[8], int32_t at) const {
    loadFour(to, at);
    loadFour(to + 4, at + 4);
  }

private:
  const NormArguments &arg;
  float mean = 0, inverse = 1;

  SLUICE_MEMBER void loadFour(float *to, int32_t at) const {
    if (at >= arg.features) {
#pragma unroll
      for (int i = 0; i < width; ++i)
        to[i] = 0;
      return;
    }
    // Other blocks may have written the row.
    const Vector4 four = loadL2(arg.x + at);
    Vector4 weight = {}, bias = {};
    if (norms && arg.norm != Norm::None)
      weight = load16(arg.weight + at);
    if (norms && arg.bias)
      bias = load16(arg.bias + at);
#pragma unroll
    for (int i = 0; i < width; ++i)
      to[i] = normalised(floatOfBits(four.word[i]), floatOfBits(weight.word[i]),
                         floatOfBits(bias.word[i]));
  }

  SLUICE_MEMBER float normalised(float number, float weight, float bias) const {
    if (!norms || arg.norm == Norm::None)
      return number;
    const float centred = arg.norm == Norm::Layer ? number - mean : number;
    const float scaled = centred * inverse;
    return arg.bias ? multiplyAdd(scaled, weight, bias) : scaled * weight;
  }

  SLUICE_MEMBER void storeRow() const {
    for (int32_t at = int32_t(threadIndex()) * width; at < arg.features;
         at += threads * width) {
      float numbers[width];
      loadFour(numbers, at);
      Vector4 four;
#pragma unroll
      for (int i = 0; i < width; ++i)
        four.word[i] = bitsOfFloat(numbers[i]);
      storeGlobal16(arg.y + at, four);
    }
  }

  template <bool square>
  SLUICE_MEMBER float addTerm(float sum, float number) const {
    if (!square)
      return sum + number;
    const float centred = arg.norm == Norm::Layer ? number - mean : number;
    return multiplyAdd(centred, centred, sum);
  }

  /// Returns the sum of the row's numbers, or of the squares of what is left
  /// without the mean, in every thread.
  template <bool square> SLUICE_MEMBER float sum() const {
    auto *warps = reinterpret_cast<float *>(sharedMemory());
    const int32_t count = arg.threads / 32;
#pragma unroll 1
    for (int32_t slot = 0; slot < slots; slot += together)
      sumSlots<square>(slot, warps);
    syncThreads();
    float whole = warps[int32_t(laneIndex()) % count];
    for (int32_t mask = count / 2; mask > 0; mask /= 2)
      whole = whole + shuffleXor(whole, uint32_t(mask));
    syncThreads(); // the shared memory can be used again
    return whole;
  }

  /// Stores the sums of the warps that this one stands for, from slot `first`
  /// on. The loads of all of them are in flight before the first number is
  /// used.
  template <bool square>
  SLUICE_MEMBER void sumSlots(int32_t first, float *warps) const {
    float lanes[together][width] = {};
#pragma unroll 1
    for (int32_t begin = 0; begin < arg.features; begin += arg.threads * width)
      addVectors<square>(lanes, begin, first);
#pragma unroll
    for (int32_t i = 0; i < together; ++i) {
      const int32_t warp = (first + i) * (threads / 32) + int32_t(warpIndex());
      float whole = (lanes[i][0] + lanes[i][2]) + (lanes[i][1] + lanes[i][3]);
#pragma unroll
      for (uint32_t mask = 16; mask > 0; mask /= 2)
        whole = whole + shuffleXor(whole, mask);
      if (laneIndex() == 0 && warp < arg.threads / 32)
        warps[warp] = whole;
    }
  }

  /// Adds a vector of each thread that this one stands for, each lane by
  /// itself.
  template <bool square>
  SLUICE_MEMBER void addVectors(float (&lanes)[together][width], int32_t begin,
                                int32_t first) const {
    Vector4 four[together] = {};
#pragma unroll
    for (int32_t i = 0; i < together; ++i)
      if (const int32_t at = placeOf(begin, first + i); at >= 0)
        four[i] = loadL2(arg.x + at);
#pragma unroll
    for (int32_t i = 0; i < together; ++i) {
      if (placeOf(begin, first + i) < 0)
        continue;
#pragma unroll
      for (int k = 0; k < width; ++k)
        lanes[i][k] =
            addTerm<square>(lanes[i][k], floatOfBits(four[i].word[k]));
    }
  }

  /// Returns the place of the vector, or -1 if there is none.
  SLUICE_MEMBER int32_t placeOf(int32_t begin, int32_t slot) const {
    const int32_t thread = slot * threads + int32_t(threadIndex());
    const int32_t at = begin + thread * width;
    return thread < arg.threads && at < arg.features ? at : -1;
  }
};

/// Does the tail in the last of the `blocks` blocks that have written parts of
/// the row. The whole block calls it, once it needs its shared memory no more,
/// of which it has tailSharedBytes. Without `norms` the tail only makes
/// operands.
template <int32_t threads, bool norms>
SLUICE_DEVICE void finishRow(const RowTail &tail, uint32_t blocks) {
  if (!tail.ticket)
    return;
  auto *ticket = reinterpret_cast<uint32_t *>(sharedMemory() + tailTicketPlace);
  if (!isLastBlock(tail.ticket, blocks, ticket))
    return;
  for (int32_t i = 0; i < tail.count; ++i) {
    NormRow<threads, norms>(tail.norms[i]).make();
    syncThreads();
  }
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ROWTAIL_CUH
