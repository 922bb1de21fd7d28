//===- AttendGrid.h - the grid sizes of the attention kernels -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses how many blocks attention has for the rows that are in no tile, and
// for the spans of those rows (kernels/CacheABI.h). The choice changes no bit
// of a result.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_ATTENDGRID_H
#define SLUICE_RUNTIME_DEVICE_CUDA_ATTENDGRID_H

#include "runtime/device/cuda/kernels/CacheABI.h"

#include <algorithm>

namespace sluice::cuda {

/// Says how much attention a graph computes.
struct AttendSize {
  int64_t rows = 0; ///< the graph's capacity of rows
  int64_t heads = 0, kvHeads = 0;
  int32_t dim = 0;         ///< cacheDim(headDim)
  int32_t spansPerRow = 0; ///< the maximum for one row
  bool hasTiles = false;   ///< whether another kernel computes chunks, in tiles
};

/// The blocks of sluice_attend_<kind>_<dim>.
struct AttendGrid {
  int64_t spanRows = 1;   ///< over rows
  int64_t spanShares = 1; ///< over a row's spans
};

/// Returns how many blocks attention has. Usually each row has blocks of its
/// own, and if there are few rows, each gets so many blocks that they occupy
/// the device.
///
/// If there are tiles, most of many rows may be in them, and a block takes its
/// place on a multiprocessor even if it returns at once. So the number of
/// blocks then has a bound that is independent of the rows, and beyond it each
/// block goes over several rows. The bound of sluice_attend_<kind>_<dim> is
/// four times the blocks that occupy the device; four blocks share the spans of
/// a row, so that a few long rows beside a prompt occupy the device as well.
constexpr AttendGrid attendGrid(const AttendSize &size,
                                int64_t multiprocessors) {
  constexpr int64_t rounds = 4;
  // The blocks of a row whose spans are not shared.
  const int64_t each =
      size.kvHeads *
      divideUp(static_cast<int32_t>(size.heads / size.kvHeads), warpPairs);
  const int64_t places = attendResidentBlocks(size.dim) * multiprocessors;
  const int64_t maxShares =
      std::max(divideUp(size.spansPerRow, attendWarps(size.dim)), 1);
  AttendGrid grid;
  grid.spanRows = size.rows;
  grid.spanShares = 2 * multiprocessors / (size.rows * each);
  if (size.hasTiles && size.rows * each > rounds * places) {
    grid.spanRows = std::clamp<int64_t>(places / each, 1, size.rows);
    grid.spanShares = rounds;
  }
  grid.spanShares = std::clamp<int64_t>(grid.spanShares, 1, maxShares);
  return grid;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_ATTENDGRID_H
