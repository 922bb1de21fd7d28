//===- ScaleGridTest.cpp - tests of scales stored apart -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/ScaleGrid.h"
#include "runtime/formats/Blocks.h"
#include "runtime/formats/Float8.h"

#include <gtest/gtest.h>
#include <vector>

using namespace sluice;

TEST(ScaleGrid, ThereIsOneOfThreeShapes) {
  auto rowsEach = [](int64_t rows, int64_t cols) {
    std::optional<ScaleGrid> grid = ScaleGrid::find(300, 512, rows, cols);
    return grid ? grid->rowsEach : 0;
  };
  EXPECT_EQ(rowsEach(1, 1), 300);
  EXPECT_EQ(rowsEach(300, 1), 1);
  EXPECT_EQ(rowsEach(3, 4), 128);
  for (auto [rows, cols] : {std::pair{2, 4},
                            {3, 3},
                            {4, 3},
                            {300, 4},
                            {3, 1},
                            {1, 512},
                            {1, 4},
                            {0, 0}})
    EXPECT_EQ(rowsEach(rows, cols), 0) << rows << " x " << cols;
  // One block has one scale, whichever kind of grid it is.
  EXPECT_TRUE(ScaleGrid::find(128, 128, 1, 1));
  EXPECT_TRUE(ScaleGrid::find(1, 128, 1, 1));
}

TEST(ScaleGrid, GathersBlocksWithTheirScales) {
  constexpr int64_t rows = 130, cols = 256;
  std::vector<uint8_t> numbers(size_t(rows * cols));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = uint8_t(i * 7 % 127);
  for (auto [gridRows, gridCols] : {std::pair{1, 1}, {130, 1}, {2, 2}})
    for (Format format : {Format::F32, Format::F16, Format::BF16}) {
      std::optional<ScaleGrid> grid =
          ScaleGrid::find(rows, cols, gridRows, gridCols);
      ASSERT_TRUE(grid);
      std::vector<float> scales;
      for (int i = 0; i < gridRows * gridCols; ++i)
        scales.push_back(float(i + 1) / 4);
      std::vector<uint8_t> stored(1 + 4 * scales.size());
      quantizeRow(format, scales.data(), stored.data() + 1,
                  int64_t(scales.size()));
      grid->data = stored.data() + 1;
      grid->format = format;
      for (int64_t row : {0, 127, 128, 129}) {
        const uint8_t *from = numbers.data() + row * cols;
        std::vector<uint8_t> blocks(*rowBytes(Format::E4M3, cols));
        grid->gather(from, row, 0, 1, blocks.data());
        grid->gather(from, row, 1, 2, blocks.data() + sizeof(BlockE4M3));
        std::vector<float> values(cols);
        dequantizeRow(Format::E4M3, blocks.data(), values.data(), cols);
        for (int64_t col = 0; col < cols; ++col) {
          int64_t place = gridRows == rows ? row
                          : gridRows == 1  ? 0
                                           : row / 128 * 2 + col / 128;
          ASSERT_EQ(values[size_t(col)],
                    e4m3ToFloat(from[col]) * scales[size_t(place)]);
        }
      }
    }
}
