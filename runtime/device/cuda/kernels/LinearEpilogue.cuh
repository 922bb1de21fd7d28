//===- LinearEpilogue.cuh - from sums to results --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the sums of a tile into results: applies the scales beside the operand,
// the bias, the gate and the residual. All kernels use it, so that a row's bits
// are the same in all of them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEAREPILOGUE_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEAREPILOGUE_CUH

#include "runtime/device/cuda/kernels/GateMath.cuh"
#include "runtime/device/cuda/kernels/WeightTile.cuh"

namespace sluice::cuda {

template <WeightKind kind> struct LinearEpilogue {
  const LinearColumns &columns;
  const float *rowScales;
  int32_t firstRow; ///< the first row of the block
  int32_t rowsHere; ///< existing rows of the block

  /// Writes the results of a warp's sums of `tile`, laid out as in Sums, for
  /// the block's rows from `row` on.
  template <int floats>
  SLUICE_MEMBER void finish(const float (&sum)[floats], int32_t tile,
                            int32_t row, uint32_t lane) const {
    if constexpr (kind == WeightKind::F32)
      finishColumns(sum, tile, row, lane);
    else
      finishProducts(sum, tile, row, lane);
  }

private:
  /// f32: lanes 0-15 have the columns, and lane + 16 has the other half of the
  /// features.
  template <int floats>
  SLUICE_MEMBER void finishColumns(const float (&sums)[floats], int32_t tile,
                                   int32_t begin, uint32_t lane) const {
    int32_t local = tile - columns.firstTile;
#pragma unroll
    for (int i = 0; i < floats; ++i) {
      int32_t row = begin + i;
      float sum = sums[i] + shuffleXor(sums[i], 16);
      float value = shifted(sum, local, int32_t(lane % 16));
      float partner = shuffleXor(value, 8);
      if (lane >= 16 || row >= rowsHere)
        continue;
      if (columns.gate == Gate::None)
        store(row, 16 * local + int32_t(lane), value);
      else if (lane < 8)
        store(row, 8 * local + int32_t(lane),
              gated(columns.gate, value) * partner);
    }
  }

  /// A lane has the columns g and g + 8 of the rows 2t and 2t + 1 of each
  /// eight.
  template <int floats>
  SLUICE_MEMBER void finishProducts(const float (&sums)[floats], int32_t tile,
                                    int32_t begin, uint32_t lane) const {
    int32_t g = int32_t(lane / 4), t = int32_t(lane % 4);
    int32_t local = tile - columns.firstTile;
#pragma unroll
    for (int i = 0; i < floats; i += 4)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        int32_t row = begin + 2 * i + 2 * t + j;
        if (row >= rowsHere)
          continue;
        float first = shifted(scaled(sums[i + j], row), local, g);
        float second = shifted(scaled(sums[i + 2 + j], row), local, g + 8);
        if (columns.gate == Gate::None) {
          store(row, 16 * local + g, first);
          store(row, 16 * local + g + 8, second);
        } else {
          store(row, 8 * local + g, gated(columns.gate, first) * second);
        }
      }
  }

  /// Multiplies the operand's scale back.
  SLUICE_MEMBER float scaled(float sum, int32_t row) const {
    if constexpr (kind != WeightKind::BF16)
      sum = sum * rowScales[firstRow + row];
    return sum;
  }

  /// Adds the bias of column `column` of tile `local` among those written.
  SLUICE_MEMBER float shifted(float sum, int32_t local, int32_t column) const {
    bool isGated = columns.gate != Gate::None;
    const float *bias =
        isGated && column >= 8 ? columns.partnerBias : columns.bias;
    int32_t each = isGated ? 8 : 16;
    int32_t place = each * local + column % each;
    if (!bias || place >= columns.outColumns)
      return sum;
    return sum + bias[each * columns.firstTile + place];
  }

  SLUICE_MEMBER void store(int32_t row, int32_t column, float value) const {
    if (column >= columns.outColumns)
      return;
    int64_t place = int64_t(firstRow + row) * columns.outColumns + column;
    columns.y[place] =
        columns.residual ? columns.residual[place] + value : value;
  }
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_LINEAREPILOGUE_CUH
