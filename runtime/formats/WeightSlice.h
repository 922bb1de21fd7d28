//===- WeightSlice.h - a member's part of a weight ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_WEIGHTSLICE_H
#define SLUICE_RUNTIME_FORMATS_WEIGHTSLICE_H

#include "runtime/base/Status.h"
#include "runtime/formats/ScaleGrid.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// Rows of a matrix, or of each of its rows columns: ranges one behind the
/// other. Plain data.
struct WeightSlice {
  bool ofColumns = false;
  /// Begin and end of each range, in order; none: the whole weight.
  std::vector<int64_t> bounds;

  bool isWhole() const { return bounds.empty(); }
  /// Rows or columns in all ranges.
  int64_t count() const;
  bool operator==(const WeightSlice &) const = default;
};

/// A matrix as it lies in a file, and the part of it that is meant.
struct SlicedMatrix {
  const uint8_t *data; ///< data[rows][cols] in `format`
  int64_t rows, cols;
  Format format;
  const WeightSlice &slice;
  /// Of E4M3, where `data` has numbers alone, one byte each.
  std::optional<ScaleGrid> scales = {};

  /// Of the part.
  int64_t usedRows() const;
  int64_t usedCols() const;

  /// Writes rows [rowBegin, rowEnd) and of them columns [colBegin, colEnd) of
  /// the part, as `format` has them, one row behind the other. Columns are
  /// whole blocks. Nothing else of the matrix is read.
  void copy(int64_t rowBegin, int64_t rowEnd, int64_t colBegin, int64_t colEnd,
            std::vector<uint8_t> &into) const;
};

/// Errors, each fit to follow the weight's name: ranges that are empty, out of
/// order or out of the weight, or that begin or end inside a block: of
/// `stored`, whose blocks lie in rows, or of `computed`, whose blocks lie along
/// a product's inputs, which are the rows' columns, or the rows where the
/// weight is `transposed`.
Status checkSlice(const WeightSlice &slice, int64_t rows, int64_t cols,
                  Format stored, Format computed, bool transposed);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_WEIGHTSLICE_H
