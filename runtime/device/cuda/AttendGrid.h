//===- AttendGrid.h - how many blocks attention has -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the kernels that go over the rows that are in no tile, and over their
// spans (kernels/CacheABI.h). No bit of a result depends on it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_ATTENDGRID_H
#define SLUICE_RUNTIME_DEVICE_CUDA_ATTENDGRID_H

#include "runtime/device/cuda/kernels/CacheABI.h"

#include <algorithm>

namespace sluice::cuda {

/// What a graph computes attention of.
struct AttendSize {
  int64_t rows = 0; ///< capacity
  int64_t heads = 0, kvHeads = 0;
  int32_t dim = 0;         ///< cacheDim(headDim)
  int32_t spansPerRow = 0; ///< at most
  bool hasTiles = false;   ///< chunks are computed by another kernel
};

struct AttendGrid {
  int64_t spanRows = 1;    ///< of sluice_attend_<kind>_<dim>, over rows
  int64_t spanShares = 1;  ///< of it, over the spans of a row
  int64_t combineRows = 1; ///< of sluice_attend_combine, over rows
};

/// Each row has blocks of its own, and few rows have so many that they occupy
/// the device. But where there are tiles, most of many rows may be in them, and
/// a block takes its place on a multiprocessor though it returns at once. So
/// beyond a number of blocks that is independent of the rows, blocks go over
/// rows: of sluice_attend_<kind>_<dim> as many as occupy the device four times,
/// of which four share the spans of a row, so that a few long rows beside a
/// prompt occupy it as well.
constexpr AttendGrid attendGrid(const AttendSize &size,
                                int64_t multiprocessors) {
  constexpr int64_t rounds = 4;
  // Of a multiprocessor; they need little of it.
  constexpr int64_t combineBlocks = 32;
  // Blocks of a row whose spans are not shared.
  const int64_t each =
      size.kvHeads *
      divideUp(static_cast<int32_t>(size.heads / size.kvHeads), warpPairs);
  const int64_t places = attendResidentBlocks(size.dim) * multiprocessors;
  const int64_t maxShares =
      std::max(divideUp(size.spansPerRow, attendWarps(size.dim)), 1);
  AttendGrid grid;
  grid.spanRows = grid.combineRows = size.rows;
  grid.spanShares = 2 * multiprocessors / (size.rows * each);
  if (size.hasTiles && size.rows * each > rounds * places) {
    grid.spanRows = std::clamp<int64_t>(places / each, 1, size.rows);
    grid.spanShares = rounds;
  }
  grid.spanShares = std::clamp<int64_t>(grid.spanShares, 1, maxShares);
  if (size.hasTiles)
    grid.combineRows = std::clamp<int64_t>(
        combineBlocks * multiprocessors / size.heads, 1, size.rows);
  return grid;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_ATTENDGRID_H
