//===- CompactABI.h - dead rows leave a step on the device ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of KernelABI.h hold here, too. A checkpoint is two kernels:
// sluice_compact plans, sluice_move_values moves values. They do the same as
// core/RowMoves.h's planCompaction() and StepBatch::keep(): of N living rows,
// those in slots from N on go, in ascending order, to the holes below N, in
// ascending order; no other row moves.
//
// The host has a byte for each row that the step began with, which says whether
// the row lives. The bytes lie in host memory that is mapped on the device. The
// host may change them at any time, from not 0 to 0; the device reads each byte
// once a checkpoint. A row carries its index in that array (`origins`) with it
// when it moves.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_COMPACTABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_COMPACTABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t compactThreads = 256;
constexpr int32_t maxStateArrays = 5;

/// Shared memory of sluice_compact: a byte for each row, and sums of the warps.
constexpr int32_t compactSharedBytes(int32_t rowCapacity) {
  return compactThreads / 32 * 8 + rowCapacity;
}

/// sluice_compact: one block of compactThreads. Lowers the counts, moves the
/// per-row state, and writes the plan for sluice_move_values. If no row has
/// died, it only writes moveCount (0).
struct CompactArguments {
  /// Host memory: [row at the step's start], 0 if the row is dead.
  const uint8_t *alive;
  int32_t *rowCount;
  /// Arrays of one number for each row, which move with it: positions,
  /// sequences, places of spans, and the following two.
  int32_t *states[maxStateArrays];
  int32_t stateCount;
  const int32_t *origins; ///< one of the states
  /// One of the states: 0 if the row has no output, else 1 + the number of its
  /// output at the step's start.
  const int32_t *wantsOutput;
  int32_t *outputCount;
  /// [output]: the row of each output, ascending; written anew. Null if the
  /// outputs have their final numbers; their count then stays until no row
  /// lives, and becomes 0 then.
  int32_t *outputRows;
  /// [output], written with outputRows: the number at the step's start.
  int32_t *outputSources;
  /// [row at the step's start]: receives the number of the checkpoint at which
  /// the row left. The entries of other rows are not written.
  int32_t *departedAt;
  int32_t checkpoint; ///< this one's number
  /// Host memory, or null: receives the number of the checkpoint after rows
  /// have left. The host polls it to know when they did.
  int32_t *passed;
  /// Null if there are no mirrors. Mirrors keep their order.
  int32_t *mirrorCount;
  int32_t *mirrorRows;
  int32_t *mirrorSequences;
  /// [move][2]: from, to. Has room for rowCapacity / 2 moves.
  int32_t *moves;
  int32_t *moveCount;
  int32_t *rowNow;     ///< [row]: scratch memory of rowCapacity
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
