//===- Linear.cuh - matrix products of few rows ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With few rows, a product takes as long as reading its weights. A block has
// four warps, each with a tile of 16 columns, and one part of the features.
// While it goes through its units, several more are on their way from memory:
// each stage of shared memory holds a unit of the four tiles and of all rows.
//
// Weights are the first factor (16 columns by 16 features), rows the second (16
// features by 8 rows). So one reading of the weights serves up to 64 rows; a
// single row wastes seven eighths of the products, but none of the reading.
//
// If features are split, each block writes its sums to memory and takes a
// ticket. The block with the last ticket adds all sums in the order of the
// features and finishes the result.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEAR_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEAR_CUH

#include "runtime/device/cuda/kernels/LinearEpilogue.cuh"
#include "runtime/device/cuda/kernels/LinearSums.cuh"
#include "runtime/device/cuda/kernels/RowTail.cuh"

namespace sluice::cuda {

/// Finds the block's weight among those of the launch. `block` is the block's
/// number among all that have columns, and becomes its number among those of
/// the weight.
SLUICE_DEVICE const LinearColumns &
findColumns(const JoinedLinearArguments &arguments, int32_t &block) {
  int32_t weight = 0;
#pragma unroll
  for (int32_t i = 0; i + 1 < JoinedLinearArguments::maxWeights; ++i) {
    const int32_t blocks = divideUp(arguments.columns[i].tiles, linearWarps);
    if (weight < i || i + 1 >= arguments.weights || block < blocks)
      continue;
    block -= blocks;
    weight = i + 1;
  }
  return arguments.columns[weight];
}

template <WeightKind kind, int rows> class LinearBlock {
  using Accumulators = Sums<kind, rows>;
  static constexpr int stages = linearStages(rows);
  static constexpr int weightBytes = linearWarps * tileBytes(kind);
  static constexpr int operandBytes = rows * unitRowBytes;
  static constexpr int vectors = Accumulators::floats / 4;

public:
  SLUICE_MEMBER static void run(const JoinedLinearArguments &arguments) {
    LinearBlock block(arguments);
    block.compute();
  }

private:
  const JoinedLinearArguments &launch;
  const LinearRows &arg;
  int32_t block; ///< the block's number among those of its weight
  const LinearColumns &columns;
  uint32_t lane, warp;
  int32_t tile;      ///< this warp's tile in the weight
  bool hasTile;      ///< if false, the warp only helps to copy rows
  int32_t firstUnit; ///< the first unit of the part
  int32_t units;
  int32_t firstRow;
  int32_t rowsHere; ///< existing rows of the block
  Accumulators own;

  SLUICE_MEMBER explicit LinearBlock(const JoinedLinearArguments &arguments)
      : launch(arguments), arg(arguments.rows), block(int32_t(blockX())),
        columns(findColumns(arguments, block)), lane(laneIndex()),
        warp(warpIndex()) {
    int32_t local = block * linearWarps + int32_t(warp);
    hasTile = local < columns.tiles;
    tile = columns.firstTile + local;
    int32_t unitsOfAll = unitsOf(kind, arg.inFeatures);
    int32_t each = divideUp(unitsOfAll, columns.splits);
    firstUnit = int32_t(blockY()) * each;
    units = unitsOfAll - firstUnit < each ? unitsOfAll - firstUnit : each;
    firstRow = int32_t(blockZ()) * rows;
  }

  SLUICE_MEMBER void compute() {
    launchDependents();
    // A block requests its first units of weights before it waits. A block that
    // may turn out to have no rows does not. Blocks of other weights may have
    // more parts.
    if (int32_t(blockY()) >= columns.splits) {
      waitForPrior();
      return;
    }
    if (firstRow == 0)
      copyFirstWeights();
    waitForPrior();
    rowsHere = *arg.rowCount - firstRow;
    if (rowsHere <= 0) {
      copyAsyncCommit();
      copyAsyncWait<0>();
      return;
    }
    rowsHere = rowsHere < rows ? rowsHere : rows;
    if (firstRow > 0)
      copyFirstWeights();
    clearOtherRows();
#pragma unroll
    for (int stage = 0; stage < stages - 1; ++stage) {
      copyRows(stage);
      copyAsyncCommit();
    }
#pragma unroll
    for (int i = 0; i < Accumulators::floats; ++i)
      own.sum[i] = 0;
    for (int32_t unit = 0; unit < units; ++unit) {
      copyAsyncWait<stages - 2>();
      // Now all threads can read the unit, and no thread reads the stage of the
      // previous unit any more, which is filled again.
      syncThreads();
      copyWeights(unit + stages - 1);
      copyRows(unit + stages - 1);
      copyAsyncCommit();
      if (hasTile)
        addUnit(unit);
    }
    copyAsyncWait<0>();
    if (columns.splits > 1 && !combine())
      return;
    if (hasTile)
      LinearEpilogue<kind>{columns, arg.rowScales, firstRow, rowsHere}.finish(
          own.sum, tile, 0, lane);
    // The blocks with other parts of the features have returned.
    if constexpr (rows == 8)
      finishRow<linearThreads, true>(launch.tail, gridX());
  }

  SLUICE_MEMBER static uint8_t *stageOf(int32_t unit) {
    return sharedMemory() + unit % stages * linearStageBytes(kind, rows);
  }

  SLUICE_MEMBER void addUnit(int32_t unit) {
    const uint8_t *stage = stageOf(unit);
    const uint8_t *x = stage + weightBytes;
    own.add(stage + warp * tileBytes(kind), x,
            reinterpret_cast<const float *>(x + operandBytes), rowsHere, lane);
  }

  SLUICE_MEMBER void copyFirstWeights() {
#pragma unroll
    for (int stage = 0; stage < stages - 1; ++stage)
      copyWeights(stage);
  }

  /// Copies a tile in each warp; it is contiguous from unit to unit.
  SLUICE_MEMBER void copyWeights(int32_t unit) {
    if (!hasTile || unit >= units)
      return;
    int64_t index =
        int64_t(tile) * unitsOf(kind, arg.inFeatures) + firstUnit + unit;
    const uint8_t *from = columns.weight + index * tileBytes(kind);
    uint8_t *to = stageOf(unit) + warp * tileBytes(kind);
#pragma unroll
    for (int at = 0; at < tileBytes(kind); at += 512)
      if (at + 512 <= tileBytes(kind) || at + int(lane) * 16 < tileBytes(kind))
        copyAsync16(to + at + lane * 16, from + at + lane * 16);
  }

  /// Products have eight rows at a time. Rows that do not exist are zeros in
  /// every stage, and are never copied over, so the parts of a sum have the
  /// same bits in every run.
  SLUICE_MEMBER void clearOtherRows() {
    constexpr int pieces = unitRowBytes / 16;
    for (int stage = 0; stage < stages; ++stage) {
      uint8_t *x = stageOf(stage) + weightBytes;
      for (int32_t i = rowsHere * pieces + int32_t(threadIndex());
           i < rows * pieces; i += linearThreads)
        store16(x + i * 16, Vector4());
      if constexpr (kind == WeightKind::Q4_K)
        if (int32_t row = int32_t(threadIndex()); row >= rowsHere && row < rows)
          store16(x + operandBytes + row * 16, Vector4());
    }
  }

  /// Copies the unit of the block's existing rows.
  SLUICE_MEMBER void copyRows(int32_t unit) {
    if (unit >= units)
      return;
    constexpr int64_t rowUnit = 256;
    constexpr int elementBytes = kind == WeightKind::F32 ? 4 : 2;
    int64_t rowBytes = int64_t(operandFeatures(arg.inFeatures)) * elementBytes;
    const uint8_t *from = static_cast<const uint8_t *>(arg.x) +
                          firstRow * rowBytes + (firstUnit + unit) * rowUnit;
    uint8_t *to = stageOf(unit) + weightBytes;
    for (int32_t i = int32_t(threadIndex()); i < rowsHere * 16;
         i += linearThreads)
      copyAsync16(to + i / 16 * unitRowBytes + i % 16 * 16,
                  from + i / 16 * rowBytes + i % 16 * 16);
    if constexpr (kind == WeightKind::Q4_K)
      copySums(unit, to + operandBytes);
  }

  /// Copies the sums of the unit's four blocks: 16 bytes a row.
  SLUICE_MEMBER void copySums(int32_t unit, uint8_t *to) {
    int32_t row = int32_t(threadIndex());
    if (row < rowsHere)
      copyAsync16(to + row * 16,
                  arg.blockSums +
                      int64_t(firstRow + row) * operandBlocks(arg.inFeatures) +
                      (firstUnit + unit) * 4);
  }

  /// Collects the sums of all parts in the block with the last ticket. Returns
  /// whether this is that block.
  SLUICE_MEMBER bool combine() {
    int64_t part = int64_t(linearThreads) * Accumulators::floats;
    int64_t place = int64_t(blockZ()) * gridX() + blockX();
    float *first = arg.partials + place * gridY() * part;
    float *mine = first + blockY() * part + threadIndex() * 4;
#pragma unroll
    for (int i = 0; i < vectors; ++i)
      storeSums(mine + i * linearThreads * 4, own.sum + 4 * i);
    if (!isLastBlock(arg.tickets + place, uint32_t(columns.splits),
                     reinterpret_cast<uint32_t *>(sharedMemory())))
      return false;
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      const float *from = first + threadIndex() * 4 + i * linearThreads * 4;
      Vector4 total = loadL2(from);
      for (int32_t split = 1; split < columns.splits; ++split) {
        Vector4 next = loadL2(from + split * part);
#pragma unroll
        for (int j = 0; j < 4; ++j)
          total.word[j] = bitsOfFloat(floatOfBits(total.word[j]) +
                                      floatOfBits(next.word[j]));
      }
#pragma unroll
      for (int j = 0; j < 4; ++j)
        own.sum[4 * i + j] = floatOfBits(total.word[j]);
    }
    return true;
  }

  SLUICE_MEMBER static void storeSums(float *to, const float *from) {
    Vector4 four;
#pragma unroll
    for (int j = 0; j < 4; ++j)
      four.word[j] = bitsOfFloat(from[j]);
    storeGlobal16(to, four);
  }
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEAR_CUH
