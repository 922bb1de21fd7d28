//===- LinearTile.cuh - matrix products of prompts ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With many rows a product takes as long as its multiplications, so a block
// makes more use of what it has read: it computes 128 rows by 128 columns, and
// each of its eight warps 32 rows by four tiles of 16 columns. Weights and rows
// come through stages of shared memory as in Linear.cuh. Each of the four warps
// that have the same columns unpacks their weights for itself: sharing them
// would take as many instructions.
//
// Every sum is added up in the order of Linear.cuh, so that it does not matter
// which of the two computes a row; that may depend on the other rows of the
// step. Within a part of the features, sums start from zero and ascend
// (addProducts is the same); then the parts are added in their order. In
// Linear.cuh the blocks share the parts; here a block computes one part after
// the other, with the sums of the part and of all parts in registers.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEARTILE_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEARTILE_CUH

#include "runtime/device/cuda/kernels/LinearEpilogue.cuh"
#include "runtime/device/cuda/kernels/LinearSums.cuh"

namespace sluice::cuda {

template <WeightKind kind> class LinearTileBlock {
  static constexpr int weightBytes = linearTileColumnTiles * tileBytes(kind);
  static constexpr int operandBytes = linearTileRows * unitRowBytes;
  static constexpr int warpTiles = 4;    ///< tiles of columns of a warp
  static constexpr int warpRowTiles = 4; ///< tiles of 8 rows of a warp
  static constexpr int floats = 4 * warpRowTiles; ///< sums of a tile of columns

public:
  SLUICE_MEMBER static void run(const LinearArguments &arguments) {
    LinearTileBlock block(arguments);
    block.compute();
  }

private:
  const LinearRows &arg;
  const LinearColumns &columns;
  uint32_t lane, warp;
  int32_t blockTile; ///< the block's first, among those that are written
  int32_t ownTile;   ///< the warp's first tile within the block
  int32_t ownRow;    ///< the warp's first row within the block
  int32_t units;
  int32_t firstRow; ///< the first row of the block
  int32_t rowsHere; ///< existing rows of the block
  float part[warpTiles][floats];
  float total[warpTiles][floats];

  SLUICE_MEMBER explicit LinearTileBlock(const LinearArguments &arguments)
      : arg(arguments.rows), columns(arguments.columns), lane(laneIndex()),
        warp(warpIndex()) {
    blockTile = int32_t(blockY()) * linearTileColumnTiles;
    ownTile = int32_t(warp / 4) * warpTiles;
    ownRow = int32_t(warp % 4) * 8 * warpRowTiles;
    units = unitsOf(kind, arg.inFeatures);
    firstRow = int32_t(blockX()) * linearTileRows;
  }

  SLUICE_MEMBER void compute() {
    launchDependents();
    // As in Linear.cuh.
    if (firstRow == 0)
      copyFirstWeights();
    waitForPrior();
    rowsHere = *arg.rowCount - firstRow;
    if (rowsHere <= 0) {
      copyAsyncCommit();
      copyAsyncWait<0>();
      return;
    }
    rowsHere = rowsHere < linearTileRows ? rowsHere : linearTileRows;
    if (firstRow > 0)
      copyFirstWeights();
    for (int32_t stage = 0; stage < arg.stages - 1; ++stage) {
      copyRows(stage, stage);
      copyAsyncCommit();
    }
    clearTotal();
    clearPart();
    const int32_t unitsOfPart = divideUp(units, columns.splits);
    int32_t partEnd = unitsOfPart;
    int32_t stage = 0; // the stage of the unit
    for (int32_t unit = 0; unit < units; ++unit) {
      if (unit == partEnd) {
        closePart();
        partEnd += unitsOfPart;
      }
      waitForStage();
      // Now all threads can read the unit, and no thread reads the stage of the
      // previous unit any more, which is filled again.
      syncThreads();
      const int32_t next = unit + arg.stages - 1;
      const int32_t freed = stage == 0 ? arg.stages - 1 : stage - 1;
      copyWeights(next, freed);
      copyRows(next, freed);
      copyAsyncCommit();
      if (ownRow < rowsHere)
        addUnit(stageAt(stage));
      stage = stage == arg.stages - 1 ? 0 : stage + 1;
    }
    copyAsyncWait<0>();
    closePart();
    finish();
  }

  /// Waits until all groups of copies but the last stages - 2 have arrived.
  SLUICE_MEMBER void waitForStage() const {
    if (arg.stages == 2)
      copyAsyncWait<0>();
    else if (arg.stages == 3)
      copyAsyncWait<1>();
    else
      copyAsyncWait<2>();
  }

  /// A sum from -0 on is the first part itself, also if that is a zero.
  SLUICE_MEMBER void clearTotal() {
#pragma unroll
    for (int t = 0; t < warpTiles; ++t)
#pragma unroll
      for (int i = 0; i < floats; ++i)
        total[t][i] = -0.0f;
  }

  SLUICE_MEMBER void clearPart() {
#pragma unroll
    for (int t = 0; t < warpTiles; ++t)
#pragma unroll
      for (int i = 0; i < floats; ++i)
        part[t][i] = 0;
  }

  SLUICE_MEMBER void closePart() {
#pragma unroll
    for (int t = 0; t < warpTiles; ++t)
#pragma unroll
      for (int i = 0; i < floats; ++i)
        total[t][i] = total[t][i] + part[t][i];
    clearPart();
  }

  SLUICE_MEMBER static uint8_t *stageAt(int32_t stage) {
    return sharedMemory() + stage * linearTileStageBytes(kind);
  }

  SLUICE_MEMBER void copyFirstWeights() const {
    for (int32_t stage = 0; stage < arg.stages - 1; ++stage)
      copyWeights(stage, stage);
  }

  /// Copies tile w of the block in warp w; it is contiguous from unit to unit.
  SLUICE_MEMBER void copyWeights(int32_t unit, int32_t stage) const {
    int32_t local = blockTile + int32_t(warp);
    if (local >= columns.tiles || unit >= units)
      return;
    int64_t index = int64_t(columns.firstTile + local) * units + unit;
    const uint8_t *from = columns.weight + index * tileBytes(kind);
    uint8_t *to = stageAt(stage) + warp * tileBytes(kind);
#pragma unroll
    for (int at = 0; at < tileBytes(kind); at += 512)
      if (at + 512 <= tileBytes(kind) || at + int(lane) * 16 < tileBytes(kind))
        copyAsync16(to + at + lane * 16, from + at + lane * 16);
  }

  /// Copies the unit of the block's existing rows.
  SLUICE_MEMBER void copyRows(int32_t unit, int32_t stage) const {
    if (unit >= units)
      return;
    constexpr int64_t rowUnit = 256;
    int64_t rowBytes = int64_t(operandFeatures(arg.inFeatures)) * 2;
    const uint8_t *from = static_cast<const uint8_t *>(arg.x) +
                          firstRow * rowBytes + unit * rowUnit;
    uint8_t *to = stageAt(stage) + weightBytes;
    for (int32_t i = int32_t(threadIndex()); i < rowsHere * 16;
         i += linearTileThreads)
      copyAsync16(to + i / 16 * unitRowBytes + i % 16 * 16,
                  from + i / 16 * rowBytes + i % 16 * 16);
    if constexpr (kind == WeightKind::Q4_K)
      copySums(unit, to + operandBytes);
  }

  /// Copies the sums of the unit's four blocks: 16 bytes a row.
  SLUICE_MEMBER void copySums(int32_t unit, uint8_t *to) const {
    int32_t row = int32_t(threadIndex());
    if (row < rowsHere)
      copyAsync16(to + row * 16,
                  arg.blockSums +
                      int64_t(firstRow + row) * operandBlocks(arg.inFeatures) +
                      unit * 4);
  }

  SLUICE_MEMBER void addUnit(const uint8_t *stage) {
    const uint8_t *tiles = stage + ownTile * tileBytes(kind);
    const uint8_t *x = stage + weightBytes + ownRow * unitRowBytes;
    const auto *rowSums =
        reinterpret_cast<const float *>(stage + weightBytes + operandBytes) +
        4 * ownRow;
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        int block = 2 * half + pair;
        uint32_t b[warpRowTiles][4];
#pragma unroll
        for (int r = 0; r < warpRowTiles; ++r)
          loadMatrix4(b[r], x + (8 * r + int(lane % 8)) * unitRowBytes +
                                block * 64 + int(lane / 8) * 16);
#pragma unroll
        for (int t = 0; t < warpTiles; ++t) {
          if (blockTile + ownTile + t >= columns.tiles)
            continue;
          addBlock(part[t], tiles + t * tileBytes(kind), b, half, pair,
                   rowSums + block);
        }
      }
    }
  }

  SLUICE_MEMBER void addBlock(float (&sum)[floats], const uint8_t *tile,
                              const uint32_t (&b)[warpRowTiles][4], int half,
                              int pair, const float *rowSums) const {
    HalfTile<kind> weights = HalfTile<kind>::load(tile, half, lane);
    uint32_t a[2][4];
    HalfTile<kind>::factor(weights, 2 * pair, a[0]);
    HalfTile<kind>::factor(weights, 2 * pair + 1, a[1]);
    BlockScales scales[2];
    loadScales<kind>(scales, tile, 2 * half + pair, lane);
#pragma unroll
    for (int r = 0; r < warpRowTiles; ++r)
      addProducts<kind>(sum + 4 * r, a, b[r], scales, rowSums + 4 * 8 * r,
                        lane);
  }

  SLUICE_MEMBER void finish() const {
    LinearEpilogue<kind> epilogue = {columns, arg.rowScales, firstRow,
                                     rowsHere};
#pragma unroll
    for (int t = 0; t < warpTiles; ++t) {
      int32_t local = blockTile + ownTile + t;
      if (local < columns.tiles)
        epilogue.finish(total[t], columns.firstTile + local, ownRow, lane);
    }
  }
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEARTILE_CUH
