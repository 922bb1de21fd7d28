//===- WeightSlice.h - a group member's part of a weight ------------------===//
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

/// Selects rows of a matrix, or columns of all its rows: ranges that follow
/// each other. Plain data.
struct WeightSlice {
  bool ofColumns = false;
  /// The begin and end of each range, in order; empty for the whole weight.
  std::vector<int64_t> bounds;

  bool isWhole() const { return bounds.empty(); }
  /// Returns the number of rows or columns in all ranges.
  int64_t count() const;
  bool operator==(const WeightSlice &) const = default;
};

/// A matrix in a file, and the part of it that is selected.
struct SlicedMatrix {
  const uint8_t *data; ///< data[rows][cols] in `format`
  int64_t rows, cols;
  Format format;
  const WeightSlice &slice;
  /// Set if the format is E4M3 and `data` has only the numbers, one byte each.
  std::optional<ScaleGrid> scales = {};

  /// The size of the selected part.
  int64_t usedRows() const;
  int64_t usedCols() const;

  /// Writes rows [rowBegin, rowEnd) and columns [colBegin, colEnd) of the part
  /// to `into` in `format`, row after row. Columns are whole blocks. It reads
  /// nothing else of the matrix.
  void copy(int64_t rowBegin, int64_t rowEnd, int64_t colBegin, int64_t colEnd,
            std::vector<uint8_t> &into) const;
};

/// Checks a slice. The text of an error can follow the weight's name. Errors: a
/// range is empty, out of order or outside the weight, or begins or ends inside
/// a block. Blocks of `stored` lie along the columns of a row. Blocks of
/// `computed` lie along the inputs of a product, which are the columns, or the
/// rows if the weight is `transposed`.
Status checkSlice(const WeightSlice &slice, int64_t rows, int64_t cols,
                  Format stored, Format computed, bool transposed);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_WEIGHTSLICE_H
