//===- LinearSums.cuh - the products of one unit, by kind of weight -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums<kind, rows> holds what one warp adds up: 16 columns by `rows` rows. Its
// add() takes one unit of features. Features ascend in every sum:
//
//   f16, bf16         one product of 16 features after the other, each added to
//                     the sum
//   blocks            the exact numbers of a block (e4m3: of a quarter) times
//                     the row, in f32 from zero, give `part`; then
//                     sum = fma(scale, part, sum), and with minima
//                     sum = fma(-minimum, sum of the row's block, sum)
//   f32               lanes 0-15: features 0-3, 8-11, ... of a column; lanes
//                     16-31 the others; one fma for each; finish() adds the two
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEARSUMS_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEARSUMS_CUH

#include "runtime/device/cuda/kernels/WeightTile.cuh"

namespace sluice::cuda {

template <WeightKind kind>
SLUICE_DEVICE void multiply(float *d, const uint32_t (&a)[4], uint32_t b0,
                            uint32_t b1) {
  auto &four = *reinterpret_cast<float (*)[4]>(d);
  if constexpr (kind == WeightKind::BF16)
    multiplyBF16(four, a, b0, b1);
  else
    multiplyF16(four, a, b0, b1);
}

/// Computes d += scale * part.
SLUICE_DEVICE void addScaled(float *d, const float (&part)[4],
                             const BlockScales &scales) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    d[i] = multiplyAdd(scales.scale[i / 2], part[i], d[i]);
}

/// Loads the scales of a block of 32 features: one, or two of 16 features each.
template <WeightKind kind>
SLUICE_DEVICE void loadScales(BlockScales (&scales)[2], const uint8_t *tile,
                              int block, uint32_t lane) {
  scales[0] = scales[1] = {};
  if constexpr (kind == WeightKind::Q6_K) {
    scales[0] = blockScales<kind>(tile, 2 * block, lane);
    scales[1] = blockScales<kind>(tile, 2 * block + 1, lane);
  } else if constexpr (hasBlockScales(kind)) {
    scales[0] = blockScales<kind>(tile, block, lane);
  }
}

/// Adds the products of a block of 32 features to the sums d of 16 columns and
/// 8 rows; a and b are its two factors of 16 features. `rowSums` are the
/// block's sums of the 8 rows, four numbers apart.
template <WeightKind kind>
SLUICE_DEVICE void addProducts(float *d, const uint32_t (&a)[2][4],
                               const uint32_t (&b)[4],
                               const BlockScales (&scales)[2],
                               const float *rowSums, uint32_t lane) {
  if constexpr (!hasBlockScales(kind)) {
    multiply<kind>(d, a[0], b[0], b[1]);
    multiply<kind>(d, a[1], b[2], b[3]);
  } else {
    float part[4] = {};
    multiply<kind>(part, a[0], b[0], b[1]);
    if constexpr (kind == WeightKind::Q6_K) {
      addScaled(d, part, scales[0]);
      part[0] = part[1] = part[2] = part[3] = 0;
    }
    multiply<kind>(part, a[1], b[2], b[3]);
    addScaled(d, part, scales[kind == WeightKind::Q6_K ? 1 : 0]);
  }
  if constexpr (kind == WeightKind::Q4_K) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      d[i] = multiplyAdd(-scales[0].minimum[i / 2],
                         rowSums[4 * (lane % 4 * 2 + i % 2)], d[i]);
  }
}

template <WeightKind kind, int rows> struct Sums {
  static constexpr int rowTiles = rows / 8;
  static constexpr int floats = 4 * rowTiles;
  /// The sums as the product leaves them: [row tile][d].
  float sum[floats];

  /// Adds a unit: the tile, operand rows of unitRowBytes, and block sums of the
  /// rows [row][4 blocks], all in shared memory. If there are more than eight
  /// rows, halves that begin at or after rowsHere are left out.
  SLUICE_MEMBER void add(const uint8_t *tile, const uint8_t *x,
                         const float *blockSums, int32_t rowsHere,
                         uint32_t lane) {
    // If this were unrolled, ptxas would load all weights of a unit at once and
    // spill them.
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
      HalfTile<kind> weights = HalfTile<kind>::load(tile, half, lane);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        uint32_t a[2][4];
        HalfTile<kind>::factor(weights, 2 * pair, a[0]);
        HalfTile<kind>::factor(weights, 2 * pair + 1, a[1]);
        int block = 2 * half + pair;
        // Eight features of eight rows are a matrix: lane i has row i % 8, and
        // the features 8 * (i / 8) of the block.
        const uint8_t *own =
            x + lane % 8 * unitRowBytes + block * 64 + lane / 8 * 16;
        addBlock(tile, own, blockSums + block, a, block, rowsHere, lane);
      }
    }
  }

private:
  SLUICE_MEMBER void addBlock(const uint8_t *tile, const uint8_t *x,
                              const float *blockSums, const uint32_t (&a)[2][4],
                              int block, int32_t rowsHere, uint32_t lane) {
    BlockScales scales[2];
    loadScales<kind>(scales, tile, block, lane);
#pragma unroll
    for (int tileOfRows = 0; tileOfRows < rowTiles; ++tileOfRows) {
      // The products of several groups of eight rows are in flight between
      // these checks.
      if (rowTiles > 2 && tileOfRows == rowTiles / 2 &&
          8 * tileOfRows >= rowsHere)
        break;
      uint32_t b[4];
      loadMatrix4(b, x + tileOfRows * 8 * unitRowBytes);
      addProducts<kind>(sum + 4 * tileOfRows, a, b, scales,
                        blockSums + 4 * 8 * tileOfRows, lane);
    }
  }
};

template <int rows> struct Sums<WeightKind::F32, rows> {
  static constexpr int floats = rows;
  float sum[floats]; ///< [row], of column lane % 16

  SLUICE_MEMBER void add(const uint8_t *tile, const uint8_t *x, const float *,
                         int32_t rowsHere, uint32_t lane) {
    uint32_t other = lane / 16 * 16;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      Vector4 weights = load16(tile + j * 512 + lane * 16);
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        if (row % 8 == 0 && row > 0 && row >= rowsHere)
          break;
        Vector4 values = load16(x + row * unitRowBytes + j * 32 + other);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sum[row] = multiplyAdd(floatOfBits(weights.word[i]),
                                 floatOfBits(values.word[i]), sum[row]);
      }
    }
  }
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEARSUMS_CUH
