//===- ScaleGrid.h - scales stored apart from their numbers ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hugging Face's files store the numbers of an e4m3 matrix in one tensor and
// its scales in another: one scale for all numbers, one for each row, or one
// for each 128 rows by 128 columns. In each case, the numbers become blocks of
// Format::E4M3 when a block's scale is written beside them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_SCALEGRID_H
#define SLUICE_RUNTIME_FORMATS_SCALEGRID_H

#include "runtime/formats/BlockFormat.h"

#include <optional>

namespace sluice {

/// The scales of a matrix. Plain data; its functions are pure.
struct ScaleGrid {
  const uint8_t *data = nullptr; ///< [rows][cols], at any alignment; not owned
  Format format = Format::F32;   ///< f32, f16 or bf16
  int64_t rows = 1;
  int64_t cols = 1;
  int64_t rowsEach = 1; ///< how many rows of the matrix share a row of the grid

  /// Returns the grid for a matrix with rows x cols scales, without data;
  /// nothing if no kind of grid has that shape.
  static std::optional<ScaleGrid> find(int64_t matrixRows, int64_t matrixCols,
                                       int64_t rows, int64_t cols);

  /// Returns the scale of block `block` of the matrix's row `row`.
  float at(int64_t row, int64_t block) const;

  /// Writes blocks [first, last) of row `row` to `to`, in Format::E4M3.
  /// `numbers` points to the first number of the row.
  void gather(const uint8_t *numbers, int64_t row, int64_t first, int64_t last,
              uint8_t *to) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_SCALEGRID_H
