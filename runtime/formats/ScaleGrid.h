//===- ScaleGrid.h - scales that a file has apart from its numbers --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hugging Face's files have the numbers of an e4m3 matrix in one tensor and its
// scales in another: one for all numbers, one for each row, or one for each 128
// rows by 128 columns. All of these are blocks of Format::E4M3 once a block's
// scale is written beside it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_SCALEGRID_H
#define SLUICE_RUNTIME_FORMATS_SCALEGRID_H

#include "runtime/formats/BlockFormat.h"

#include <optional>

namespace sluice {

/// Plain data; pure functions.
struct ScaleGrid {
  const uint8_t *data = nullptr; ///< [rows][cols], at any alignment; not owned
  Format format = Format::F32;   ///< f32, f16 or bf16
  int64_t rows = 1;
  int64_t cols = 1;
  int64_t rowsEach = 1; ///< rows of the matrix that share one

  /// The grid of rows x cols scales of a matrix, without data; nothing where
  /// there is none of that shape.
  static std::optional<ScaleGrid> find(int64_t matrixRows, int64_t matrixCols,
                                       int64_t rows, int64_t cols);

  /// The scale of block `block` of the matrix's row `row`.
  float at(int64_t row, int64_t block) const;

  /// Writes blocks [first, last) of row `row`, as Format::E4M3 has them, to
  /// `to`. `numbers` is the row's first.
  void gather(const uint8_t *numbers, int64_t row, int64_t first, int64_t last,
              uint8_t *to) const;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_SCALEGRID_H
