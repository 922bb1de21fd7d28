//===- CompactABI.h - rows leave a step on the device ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As KernelABI.h, whose rules hold. A checkpoint is two kernels: one plans, the
// other moves values. What they do is core/RowMoves.h's planCompaction() and
// StepBatch::keep(): of N living rows, those in slots from N on go, in
// ascending order, to the holes below N, in ascending order; nothing else
// moves.
//
// The host says who lives in a byte for each row that the step began with, in
// memory of its own that the device has mapped; it may change them at any time,
// from not 0 to 0, and each is read once. A row knows its number in that array
// (`origins`), as it moves.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_COMPACTABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_COMPACTABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t compactThreads = 256;
constexpr int32_t maxStateArrays = 5;

/// Shared memory of sluice_compact: a byte for each row, and sums of warps.
constexpr int32_t compactSharedBytes(int32_t rowCapacity) {
  return compactThreads / 32 * 8 + rowCapacity;
}

/// sluice_compact: one block of compactThreads. Lowers the counts, moves what
/// rows carry with them, and leaves the plan for sluice_move_values. If nobody
/// has died, nothing but moveCount (0) is written.
struct CompactArguments {
  const uint8_t *alive; ///< host memory: [row at the step's begin], 0: dead
  int32_t *rowCount;
  /// Of each row one number, which moves with it: positions, sequences, places
  /// of spans, and these two.
  int32_t *states[maxStateArrays];
  int32_t stateCount;
  const int32_t *origins; ///< one of the states
  /// One of the states; not 0: has an output, which was the number before that
  /// of the step's begin.
  const int32_t *wantsOutput;
  int32_t *outputCount;
  /// [output]: ascending; made anew. Null: outputs have got their numbers for
  /// good, and there are as many as there were until no row lives, then none.
  int32_t *outputRows;
  int32_t *outputSources; ///< with these: its number at the step's begin
  /// [row at the step's begin]: the number of the checkpoint that the row has
  /// left at is written; of others nothing.
  int32_t *departedAt;
  int32_t checkpoint; ///< this one's number
  /// Host memory, or null: checkpoint is written where rows have left, once
  /// they have. The host looks at it to know when.
  int32_t *passed;
  int32_t *mirrorCount; ///< null: none. Mirrors stay in their order
  int32_t *mirrorRows;
  int32_t *mirrorSequences;
  int32_t *moves; ///< [move][2]: from, to; room for rowCapacity / 2
  int32_t *moveCount;
  int32_t *rowNow;     ///< [row]: scratch, of rowCapacity
  int32_t rowCapacity; ///< at most 32768
};

constexpr int32_t maxValues = 8;
constexpr int32_t moveThreads = 128;

/// sluice_move_values: grid (any number, values), blocks of moveThreads, no
/// shared memory. Makes the moves in each of the values.
struct MoveArguments {
  uint8_t *values[maxValues];
  int64_t rowBytes[maxValues]; ///< multiples of 4
  const int32_t *moves;
  const int32_t *moveCount;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_COMPACTABI_H
