//===- WeightLayoutTest.cpp - tiles hold the numbers of the stored rows ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inverse of the layout is written here a second time, from the table in
// KernelABI.h and the definition of mma's first factor. It must return the
// weights bit for bit.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/test/StoredWeight.h"
#include "runtime/formats/Float8.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

/// Reads one tile.
class TileReader {
public:
  TileReader(WeightKind kind, const uint8_t *tile) : kind(kind), tile(tile) {}

  float value(int column, int feature) const {
    if (kind == WeightKind::F32)
      return at<float>(feature / 8 * 512 +
                       (column + feature % 8 / 4 * 16) * 16 + feature % 4 * 4);
    // Rows g, g+8, g, g+8 at features 2t, 2t, 2t+8, 2t+8 of a product.
    int p = feature / 16, lane = column % 8 * 4 + feature % 8 / 2;
    int pair = column / 8 + feature % 16 / 8 * 2, low = feature % 2;
    int i = 2 * pair + low;
    switch (kind) {
    case WeightKind::F16:
      return halfToFloat(at<uint16_t>(p * 512 + lane * 16 + 2 * i));
    case WeightKind::BF16:
      return bfloatToFloat(at<uint16_t>(p * 512 + lane * 16 + 2 * i));
    case WeightKind::E4M3:
      return e4m3ToFloat(uint8_t(byte(p, lane, i))) *
             at<float>(2048 + column * 4);
    case WeightKind::Q8_0:
      return float(byte(p, lane, i) - 128) *
             half(2048 + column * 8 + feature / 32 * 2);
    case WeightKind::Q4_0:
      return float(nibble(p, lane, pair, low) - 8) *
             half(1024 + column * 8 + feature / 32 * 2);
    case WeightKind::Q4_K: {
      int scales = 1024 + column * 12, block = feature / 32;
      return half(scales) * float(tile[scales + 4 + block]) *
                 float(nibble(p, lane, pair, low)) -
             half(scales + 2) * float(tile[scales + 8 + block]);
    }
    default:
      break;
    }
    auto word = at<uint32_t>(1024 + lane * 16 + p / 2 * 4);
    int high = word >> (2 * pair + 8 * (p % 2) + 16 * low) & 3;
    return half(1664 + column * 2) *
           float(int8_t(tile[1536 + column * 8 + feature / 16])) *
           float(nibble(p, lane, pair, low) + 16 * high - 32);
  }

private:
  WeightKind kind;
  const uint8_t *tile;

  template <typename T> T at(int place) const {
    T value;
    std::memcpy(&value, tile + place, sizeof(T));
    return value;
  }
  float half(int place) const { return halfToFloat(at<uint16_t>(place)); }
  uint8_t byte(int p, int lane, int i) const {
    return tile[p / 2 * 512 + lane * 16 + p % 2 * 8 + i];
  }
  int nibble(int p, int lane, int pair, int low) const {
    auto word = at<uint32_t>(p / 4 * 512 + lane * 16 + p % 4 * 4);
    return word >> (4 * pair + 16 * low) & 15;
  }
};

class WeightLayoutTest : public testing::TestWithParam<int> {
protected:
  WeightKind kind() const { return WeightKind(GetParam()); }

  std::vector<int64_t> inputSizes() const {
    switch (kind()) {
    case WeightKind::E4M3:
      return {128, 384};
    case WeightKind::Q8_0:
    case WeightKind::Q4_0:
      return {32, 96, 128, 352};
    case WeightKind::Q4_K:
    case WeightKind::Q6_K:
      return {256, 768};
    default:
      return {1, 63, 64, 131, 256};
    }
  }

  void check(const StoredWeight &weight, const StoredWeight *partner) {
    DeviceWeight device = deviceWeight(weight, partner);
    int units = unitsOf(kind(), int32_t(weight.inFeatures));
    int features = unitFeatures(kind());
    for (int64_t tile = 0; tile < columnTiles(device.spec); ++tile)
      for (int column = 0; column < tileColumns; ++column) {
        TileColumn from = tileColumn(device.spec.gated, tile, column);
        const StoredWeight &source = from.fromPartner ? *partner : weight;
        for (int k = 0; k < units * features; ++k) {
          TileReader reader(kind(), device.tiles.data() +
                                        (tile * units + k / features) *
                                            tileBytes(kind()));
          bool exists =
              from.column < weight.outFeatures && k < weight.inFeatures;
          float value = reader.value(column, k % features);
          float want =
              exists
                  ? source.values[size_t(from.column * weight.inFeatures + k)]
                  : 0;
          ASSERT_EQ(value, want) << tile << " " << column << " " << k;
        }
      }
  }

  std::mt19937 random{unsigned(GetParam()) + 1};
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Kinds, WeightLayoutTest,
                         testing::Range(0, weightKindCount), [](auto &info) {
                           return kindName(WeightKind(info.param));
                         });

TEST_P(WeightLayoutTest, TilesGiveTheWeightsBack) {
  for (int64_t out : {1, 16, 37})
    for (int64_t in : inputSizes())
      check(randomWeight(random, kind(), out, in), nullptr);
}

TEST_P(WeightLayoutTest, GatedWeightsAlternateInEights) {
  for (int64_t out : {3, 8, 20}) {
    StoredWeight partner = randomWeight(random, kind(), out, 256);
    check(randomWeight(random, kind(), out, 256), &partner);
  }
}

TEST_P(WeightLayoutTest, BytesOfAWeight) {
  constexpr double bytes[] = {4,      2,      2,       1.03125,
                              1.0625, 0.5625, 0.59375, 0.828125};
  WeightSpec spec = {kind(), 4096, 4096, false};
  EXPECT_EQ(double(layoutBytes(spec).value()), 4096 * 4096 * bytes[GetParam()]);
  // Loads of 16 bytes stay aligned from tile to tile.
  EXPECT_EQ(tileBytes(kind()) % 16, 0);
}

TEST_P(WeightLayoutTest, SizesThatCannotBeAreRefused) {
  EXPECT_FALSE(layoutBytes({kind(), 0, 256, false}));
  EXPECT_FALSE(layoutBytes({kind(), 16, -256, false}));
  EXPECT_FALSE(layoutBytes({kind(), int64_t{1} << 31, 256, false}));
  bool blocks = kind() >= WeightKind::E4M3;
  EXPECT_EQ(layoutBytes({kind(), 16, 33, false}).has_value(), !blocks);
}

TEST(WeightKindTest, FormatsWithKernelsHaveAKind) {
  EXPECT_EQ(weightKind(Format::Q4_K), WeightKind::Q4_K);
  EXPECT_EQ(weightKind(Format::BF16), WeightKind::BF16);
  EXPECT_EQ(weightKind(Format::E4M3), WeightKind::E4M3);
  EXPECT_EQ(weightKind(Format::Q5_1), std::nullopt);
}
