//===- ScaleGrid.cpp - scales stored apart from their numbers -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/ScaleGrid.h"
#include "runtime/formats/Blocks.h"

#include <cstring>

using namespace sluice;

static constexpr int64_t side = sizeof(BlockE4M3::qs);

std::optional<ScaleGrid> ScaleGrid::find(int64_t matrixRows, int64_t matrixCols,
                                         int64_t rows, int64_t cols) {
  auto blocks = [](int64_t count) {
    return count / side + (count % side != 0);
  };
  ScaleGrid grid;
  grid.rows = rows;
  grid.cols = cols;
  if (rows == matrixRows && cols == 1)
    return grid;
  grid.rowsEach = matrixRows;
  if (rows == 1 && cols == 1)
    return grid;
  grid.rowsEach = side;
  if (rows == blocks(matrixRows) && cols == blocks(matrixCols))
    return grid;
  return std::nullopt;
}

float ScaleGrid::at(int64_t row, int64_t block) const {
  auto bytes = uint64_t(formatInfo(format).blockBytes);
  int64_t place = row / rowsEach * cols + (cols == 1 ? 0 : block);
  float scale;
  dequantizeRow(format, data + uint64_t(place) * bytes, &scale, 1);
  return scale;
}

void ScaleGrid::gather(const uint8_t *numbers, int64_t row, int64_t first,
                       int64_t last, uint8_t *to) const {
  for (int64_t i = first; i < last; ++i, to += sizeof(BlockE4M3)) {
    BlockE4M3 block;
    block.d = at(row, i);
    std::memcpy(block.qs, numbers + i * side, sizeof(block.qs));
    std::memcpy(to, &block, sizeof(block));
  }
}
