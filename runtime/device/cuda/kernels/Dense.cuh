//===- Dense.cuh - weights and sums for cuBLASLt --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSE_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSE_CUH

#include "runtime/device/cuda/kernels/DenseABI.h"
#include "runtime/device/cuda/kernels/LinearEpilogue.cuh"

namespace sluice::cuda {

/// One warp's unit of a tile. It goes from registers through shared memory to
/// rows: the pairs of a lane are 16 bytes apart there, and 16 bytes are written
/// at a time.
template <WeightKind kind> class DenseUnit {
public:
  SLUICE_MEMBER explicit DenseUnit(const DenseWeightArguments &arguments)
      : arg(arguments), lane(laneIndex()),
        units(unitsOf(kind, arguments.inFeatures)),
        unit(int32_t(blockX()) * denseWarps + int32_t(warpIndex())),
        tile(int32_t(blockY())),
        shared(sharedMemory() + warpIndex() * tileColumns * unitRowBytes) {}

  SLUICE_MEMBER void unpack() const {
    launchDependents();
    if (unit < units)
      fillShared();
    syncWarp();
    waitForPrior();
    if (unit < units && *arg.rowCount > 0)
      writeRows();
  }

private:
  const DenseWeightArguments &arg;
  uint32_t lane;
  int32_t units, unit;
  int32_t tile; ///< the tile's index among those that are unpacked
  uint8_t *shared;

  SLUICE_MEMBER void fillShared() const {
    const uint8_t *from =
        arg.weight +
        (int64_t(arg.firstTile + tile) * units + unit) * tileBytes(kind);
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
      HalfTile<kind> weights = HalfTile<kind>::load(from, half, lane);
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        uint32_t a[4];
        HalfTile<kind>::factor(weights, p, a);
        scale(a, from, 4 * half + p);
        const uint32_t column = lane / 4, feature = lane % 4 * 2;
        const uint32_t begin = uint32_t(64 * half + 16 * p) + feature;
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i)
          *reinterpret_cast<uint32_t *>(shared +
                                        (column + i % 2 * 8) * unitRowBytes +
                                        (begin + i / 2 * 8) * 2) = a[i];
      }
    }
  }

  /// Turns the quants of product `p`, one of the unit's eight, into weights.
  SLUICE_MEMBER void scale(uint32_t (&a)[4], const uint8_t *from, int p) const {
    if constexpr (hasBlockScales(kind)) {
      const BlockScales scales =
          blockScales<kind>(from, kind == WeightKind::Q6_K ? p : p / 2, lane);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a[i] = packHalves(scaled(a[i] & 0xffffu, scales, i % 2),
                          scaled(a[i] >> 16, scales, i % 2));
    }
  }

  SLUICE_MEMBER static float scaled(uint32_t bits, const BlockScales &scales,
                                    int column) {
    return weightOf<kind>(bits, scales.scale[column], scales.minimum[column]);
  }

  SLUICE_MEMBER void writeRows() const {
    constexpr int32_t pieces = 256 / 16;
    uint16_t *to = arg.dense +
                   int64_t(tile) * tileColumns * units * unitFeatures(kind) +
                   unit * unitFeatures(kind);
#pragma unroll
    for (int32_t i = int32_t(lane); i < tileColumns * pieces; i += 32) {
      int32_t column = i / pieces, piece = i % pieces;
      storeGlobal16(to + int64_t(column) * units * unitFeatures(kind) +
                        piece * 8,
                    load16(shared + column * unitRowBytes + piece * 16));
    }
  }
};

/// `kind` is BF16, or F16 for all kinds whose operand rows are f16.
template <WeightKind kind>
SLUICE_DEVICE void makeDenseResults(const DenseResultArguments &arguments) {
  const LinearRows &rows = arguments.linear.rows;
  launchDependents();
  waitForPrior();
  const int32_t tile = int32_t(blockX()) * linearWarps + int32_t(warpIndex());
  const int32_t firstRow = int32_t(blockY()) * 8;
  const int32_t rowsHere = *rows.rowCount - firstRow;
  if (tile >= arguments.tiles || rowsHere <= 0)
    return;
  // Like the sums that a product of 16 columns and 8 rows leaves in a lane.
  const uint32_t lane = laneIndex();
  const int32_t column = 16 * tile + int32_t(lane / 4);
  float sum[4] = {};
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    const int32_t row = int32_t(lane % 4) * 2 + j;
    if (row >= rowsHere)
      continue;
    const float *from = arguments.sums +
                        int64_t(firstRow + row) * 16 * arguments.tiles + column;
    sum[j] = from[0];
    sum[2 + j] = from[8];
  }
  LinearEpilogue<kind> epilogue = {arguments.linear.columns, rows.rowScales,
                                   firstRow, rowsHere};
  epilogue.finish(sum, arguments.firstTile + tile, 0, lane);
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSE_CUH
