//===- Group.cu - kernels for the collectives of a group ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/Primitives.cuh"

using namespace sluice::cuda;

namespace {

SLUICE_DEVICE const float *partOf(const GroupParts &parts, int32_t member) {
  return member == parts.member ? parts.mine
                                : parts.others + member * parts.stride;
}

SLUICE_DEVICE void noteExchange(const ExchangeNote &exchange) {
  if (blockX() == 0 && blockY() == 0 && threadIndex() == 0)
    storeHostWord(exchange.passed, int32_t(exchange.number));
}

/// Adds numbers of a vector, given by their bits.
SLUICE_DEVICE uint32_t addBits(uint32_t a, uint32_t b) {
  return bitsOfFloat(floatOfBits(a) + floatOfBits(b));
}

/// Sums the numbers [at, at + 4).
SLUICE_DEVICE void sumVector(const SumPartsArguments &arguments, int64_t at) {
  Vector4 sum = load16(partOf(arguments.parts, 0) + at);
  for (int32_t member = 1; member < arguments.parts.members; ++member) {
    const Vector4 part = load16(partOf(arguments.parts, member) + at);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sum.word[i] = addBits(sum.word[i], part.word[i]);
  }
  store16(arguments.to + at, sum);
}

SLUICE_DEVICE void sumNumber(const SumPartsArguments &arguments, int64_t at) {
  float sum = partOf(arguments.parts, 0)[at];
  for (int32_t member = 1; member < arguments.parts.members; ++member)
    sum = sum + partOf(arguments.parts, member)[at];
  arguments.to[at] = sum;
}

} // namespace

extern "C" SLUICE_KERNEL(groupThreads)
    sluice_sum_parts(const SumPartsArguments arguments) {
  launchDependents();
  waitForPrior();
  noteExchange(arguments.exchange);
  const int64_t vectors = arguments.floats / 4;
  const int64_t thread = int64_t(blockX()) * groupThreads + threadIndex();
  for (int64_t i = thread; i < vectors; i += int64_t(gridX()) * groupThreads)
    sumVector(arguments, 4 * i);
  // The last member's share can end anywhere.
  if (const int64_t at = 4 * vectors + thread; at < arguments.floats)
    sumNumber(arguments, at);
}

extern "C" SLUICE_KERNEL(groupThreads)
    sluice_join_columns(const JoinColumnsArguments arguments) {
  launchDependents();
  waitForPrior();
  noteExchange(arguments.exchange);
  const auto row = int32_t(blockX());
  if (row >= *arguments.rowCount)
    return;
  const int32_t part = arguments.partCols, cols = arguments.cols;
  float *to = arguments.to + int64_t(row) * cols;
  const auto first = int32_t(blockY() * groupThreads + threadIndex());
  for (int32_t col = first; col < cols;
       col += int32_t(gridY()) * groupThreads) {
    const int32_t member = col / part;
    const int32_t begin =
        member * part < cols - part ? member * part : cols - part;
    to[col] =
        partOf(arguments.parts, member)[int64_t(row) * part + col - begin];
  }
}

extern "C" SLUICE_KERNEL(compactThreads)
    sluice_read_alive(const ReadAliveArguments arguments) {
  launchDependents();
  waitForPrior();
  for (int64_t row = threadIndex(); row < arguments.rows; row += compactThreads)
    arguments.decided[row] = loadHostByte(arguments.alive + row);
}
