//===- WgmmaTiles.cpp - factors that show how a product is summed ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/probe/WgmmaTiles.h"

#include "runtime/formats/BlockFormat.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace sluice;
using namespace sluice::cuda::probe;

/// Writes the tiles.
class WgmmaTiles::Maker {
public:
  Maker(WgmmaTiles &tiles, uint64_t seed) : tiles(tiles), random(seed) {}

  void shufflePlaces() {
    shuffle(tiles.rowPlaces);
    shuffle(tiles.columnPlaces);
  }

  void makeIntegers(int32_t tile) {
    forEach(tile, [&](uint16_t &number) {
      const int64_t size = 1 + below(8);
      number = bitsOf(static_cast<float>(below(2) == 0 ? size : -size));
    });
  }

  void makeMixed(int32_t tile) {
    forEach(tile, [&](uint16_t &number) { number = mixed(); });
  }

  /// Feature k + distance of A equals feature k, and that of B is the negative
  /// of feature k, or that with another last bit.
  void makeCancelling(int32_t tile, int32_t distance) {
    makeMixed(tile);
    for (int32_t k = 0; k < tiles.features(); ++k) {
      if (k / distance % 2 == 0)
        continue;
      for (int32_t row = 0; row < wgmmaRows; ++row)
        a(tile, row, k) = a(tile, row, k - distance);
      for (int32_t column = 0; column < wgmmaColumns; ++column)
        b(tile, column, k) = static_cast<uint16_t>(
            b(tile, column, k - distance) ^ signBit ^ below(2));
    }
  }

  void makeMoved(int32_t tile, int32_t original) {
    for (int32_t k = 0; k < tiles.features(); ++k) {
      for (int32_t row = 0; row < wgmmaRows; ++row)
        a(tile, tiles.movedRow(row), k) = a(original, row, k);
      for (int32_t column = 0; column < wgmmaColumns; ++column)
        b(tile, tiles.movedColumn(column), k) = b(original, column, k);
    }
  }

  void makeReplaced(int32_t tile, int32_t original) {
    makeMixed(tile);
    for (int32_t k = 0; k < tiles.features(); ++k) {
      for (int32_t row = 0; row < wgmmaRows; ++row)
        if (keeps(row, 0))
          a(tile, row, k) = a(original, row, k);
      for (int32_t column = 0; column < wgmmaColumns; ++column)
        if (keeps(0, column))
          b(tile, column, k) = b(original, column, k);
    }
  }

private:
  static constexpr uint16_t signBit = 0x8000;

  int64_t below(uint64_t limit) {
    return static_cast<int64_t>(random() % limit);
  }

  template <typename Places> void shuffle(Places &places) {
    std::iota(places.begin(), places.end(), 0);
    for (size_t i = places.size(); i > 1; --i)
      std::swap(places[i - 1], places[random() % i]);
  }

  uint16_t bitsOf(float value) const {
    return tiles.isBfloat ? floatToBfloat(value) : floatToHalf(value);
  }

  /// Returns a number of mixed magnitude. Products of f16 stay below 2^12,
  /// those of bf16 below 2^22.
  uint16_t mixed() {
    const int32_t max = tiles.isBfloat ? 10 : 5, min = -2 * max;
    const auto magnitudes = static_cast<uint64_t>(max - min) + 1;
    const auto exponent = static_cast<int32_t>(min + below(magnitudes));
    const float size = 1.0f + static_cast<float>(below(1 << 12)) / (1 << 12);
    const float value = std::ldexp(size, exponent);
    return bitsOf(below(2) == 0 ? value : -value);
  }

  uint16_t &a(int32_t tile, int32_t row, int32_t feature) {
    return tiles
        .aBits[size_t(tile * wgmmaRows + row) * size_t(tiles.features()) +
               size_t(feature)];
  }
  uint16_t &b(int32_t tile, int32_t column, int32_t feature) {
    return tiles
        .bBits[size_t(tile * wgmmaColumns + column) * size_t(tiles.features()) +
               size_t(feature)];
  }

  template <typename Make> void forEach(int32_t tile, Make make) {
    for (int32_t k = 0; k < tiles.features(); ++k) {
      for (int32_t row = 0; row < wgmmaRows; ++row)
        make(a(tile, row, k));
      for (int32_t column = 0; column < wgmmaColumns; ++column)
        make(b(tile, column, k));
    }
  }

  WgmmaTiles &tiles;
  std::mt19937_64 random;
};

WgmmaTiles::WgmmaTiles(bool isBfloat, int32_t steps, int32_t each)
    : isBfloat(isBfloat), steps(steps), each(each) {
  const size_t numbers = size_t(count()) * size_t(features());
  aBits.resize(numbers * wgmmaRows);
  bBits.resize(numbers * wgmmaColumns);
  Maker maker(*this, static_cast<uint64_t>(2 * steps + isBfloat));
  maker.shufflePlaces();
  for (int32_t tile = 0; tile < each; ++tile) {
    maker.makeIntegers(tile);
    maker.makeMixed(each + tile);
    // Cancels in the same step, or if there are two steps, from one to the
    // next.
    const bool isNext = steps > 1 && tile % 2 == 1;
    maker.makeCancelling(2 * each + tile, isNext ? 16 : 1);
  }
  for (int32_t original = integers(); original < originals(); ++original) {
    maker.makeMoved(movedOf(original), original);
    maker.makeReplaced(replacedOf(original), original);
  }
}

float WgmmaTiles::aValue(int32_t tile, int32_t row, int32_t feature) const {
  const uint16_t bits =
      aBits[size_t(tile * wgmmaRows + row) * size_t(features()) +
            size_t(feature)];
  return isBfloat ? bfloatToFloat(bits) : halfToFloat(bits);
}

float WgmmaTiles::bValue(int32_t tile, int32_t column, int32_t feature) const {
  const uint16_t bits =
      bBits[size_t(tile * wgmmaColumns + column) * size_t(features()) +
            size_t(feature)];
  return isBfloat ? bfloatToFloat(bits) : halfToFloat(bits);
}
