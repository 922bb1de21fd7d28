//===- WgmmaTilesTest.cpp - factors that show how a product is summed -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/WgmmaTiles.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace sluice::cuda::probe;

TEST(WgmmaTilesTest, IntegersAreSmallAndNoneIsZero) {
  for (bool isBfloat : {false, true}) {
    const WgmmaTiles tiles(isBfloat, 2, 3);
    std::set<float> seen;
    for (int32_t tile = 0; tile < tiles.integers(); ++tile)
      for (int32_t k = 0; k < tiles.features(); ++k)
        for (int32_t row = 0; row < wgmmaRows; ++row)
          seen.insert(tiles.aValue(tile, row, k));
    EXPECT_EQ(seen, (std::set<float>{-8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4,
                                     5, 6, 7, 8}));
  }
}

TEST(WgmmaTilesTest, OthersAreOfManyMagnitudes) {
  for (bool isBfloat : {false, true}) {
    const WgmmaTiles tiles(isBfloat, 8, 1);
    float min = HUGE_VALF, largest = 0;
    for (int32_t k = 0; k < tiles.features(); ++k)
      for (int32_t row = 0; row < wgmmaRows; ++row) {
        const float size = std::abs(tiles.aValue(tiles.integers(), row, k));
        min = std::min(min, size);
        largest = std::max(largest, size);
      }
    EXPECT_GT(largest / min, isBfloat ? 1e8f : 1e4f);
    EXPECT_TRUE(std::isfinite(largest) && min > 0);
  }
}

TEST(WgmmaTilesTest, ProductsCancelButForALastBit) {
  const WgmmaTiles tiles(false, 2, 2);
  // The last two originals cancel within a step, and from one step to the next.
  for (int32_t tile : {tiles.originals() - 2, tiles.originals() - 1}) {
    const int32_t distance = tile == tiles.originals() - 2 ? 1 : 16;
    int32_t different = 0;
    for (int32_t column = 0; column < wgmmaColumns; ++column) {
      const double first = tiles.bValue(tile, column, 0);
      const double second = tiles.bValue(tile, column, distance);
      EXPECT_EQ(tiles.aValue(tile, 5, 0), tiles.aValue(tile, 5, distance));
      EXPECT_LE(std::abs(first + second), std::abs(first) / 1000);
      different += first + second != 0;
    }
    EXPECT_GT(different, 0);
    EXPECT_LT(different, wgmmaColumns);
  }
}

TEST(WgmmaTilesTest, MovedAndReplacedTilesHaveWhatTheyShareWithTheirOriginals) {
  const WgmmaTiles tiles(true, 1, 2);
  EXPECT_EQ(tiles.count(), 14);
  int32_t moved = 0;
  for (int32_t tile = tiles.integers(); tile < tiles.originals(); ++tile) {
    EXPECT_GE(tiles.movedOf(tile), tiles.originals());
    EXPECT_LT(tiles.replacedOf(tile), tiles.count());
    for (int32_t k = 0; k < tiles.features(); ++k) {
      for (int32_t row = 0; row < wgmmaRows; ++row) {
        const float value = tiles.aValue(tile, row, k);
        moved += tiles.movedRow(row) != row;
        EXPECT_EQ(value,
                  tiles.aValue(tiles.movedOf(tile), tiles.movedRow(row), k));
        if (WgmmaTiles::keeps(row, 0))
          EXPECT_EQ(value, tiles.aValue(tiles.replacedOf(tile), row, k));
      }
      for (int32_t column = 0; column < wgmmaColumns; ++column) {
        const float value = tiles.bValue(tile, column, k);
        EXPECT_EQ(value, tiles.bValue(tiles.movedOf(tile),
                                      tiles.movedColumn(column), k));
        if (WgmmaTiles::keeps(0, column))
          EXPECT_EQ(value, tiles.bValue(tiles.replacedOf(tile), column, k));
      }
    }
    // Rows and columns that are not kept have other numbers.
    EXPECT_NE(tiles.aValue(tile, 1, 0),
              tiles.aValue(tiles.replacedOf(tile), 1, 0));
  }
  EXPECT_GT(moved, 0);
}
