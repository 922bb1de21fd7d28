//===- BlockFormatTest.cpp - compares formats with the gguf package -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares conversions with those of the Python package `gguf`. golden.bin
// holds its rows and their values; make_golden.py beside it writes the file.
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/Blocks.h"
#include "runtime/formats/Float8.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

using namespace sluice;

namespace {

struct GoldenRow {
  bool quantize;
  Format format;
  std::vector<uint8_t> stored;
  std::vector<float> values;
};

template <typename T> T readNumber(std::istream &in) {
  T value = {};
  in.read(reinterpret_cast<char *>(&value), sizeof(value));
  return value;
}

std::vector<GoldenRow> readGolden() {
  std::ifstream in(SLUICE_FORMATS_GOLDEN, std::ios::binary);
  std::vector<GoldenRow> rows;
  while (in.peek() != std::char_traits<char>::eof() && in) {
    GoldenRow row;
    row.quantize = readNumber<uint32_t>(in) == 1;
    char name[9] = {};
    in.read(name, 8);
    row.format = parseFormat(name).value_or(Format::F32);
    row.values.resize(readNumber<uint32_t>(in));
    row.stored.resize(readNumber<uint32_t>(in));
    in.read(reinterpret_cast<char *>(row.stored.data()),
            std::streamsize(row.stored.size()));
    in.read(reinterpret_cast<char *>(row.values.data()),
            std::streamsize(row.values.size() * sizeof(float)));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string nameOf(Format format) {
  return std::string(formatInfo(format).name);
}

/// Returns the bytes after `shift` others, misaligned as rows in a mapped file
/// are.
std::vector<uint8_t> misaligned(const std::vector<uint8_t> &bytes,
                                size_t shift) {
  std::vector<uint8_t> moved(shift);
  moved.insert(moved.end(), bytes.begin(), bytes.end());
  return moved;
}

} // namespace

TEST(BlockFormat, DequantizesEveryFormatBitForBit) {
  int seen = 0;
  for (const GoldenRow &row : readGolden()) {
    if (row.quantize)
      continue;
    ++seen;
    auto elements = int64_t(row.values.size());
    ASSERT_EQ(rowBytes(row.format, elements), row.stored.size());
    for (size_t shift : {0, 1, 3}) {
      std::vector<uint8_t> stored = misaligned(row.stored, shift);
      std::vector<float> values(row.values.size());
      dequantizeRow(row.format, stored.data() + shift, values.data(), elements);
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(values[i]),
                  std::bit_cast<uint32_t>(row.values[i]))
            << nameOf(row.format) << " element " << i << ": " << values[i]
            << " for " << row.values[i];
    }
  }
  EXPECT_EQ(seen, formatCount - 1) << "all but e4m3, which gguf has not";
}

TEST(BlockFormat, QuantizesBitForBit) {
  int seen = 0;
  for (const GoldenRow &row : readGolden()) {
    if (!row.quantize)
      continue;
    ++seen;
    ASSERT_TRUE(canQuantize(row.format));
    std::vector<uint8_t> stored(row.stored.size());
    quantizeRow(row.format, row.values.data(), stored.data(),
                int64_t(row.values.size()));
    EXPECT_EQ(stored, row.stored) << nameOf(row.format);
  }
  EXPECT_EQ(seen, 5);
}

TEST(BlockFormat, NamesRoundTrip) {
  for (int i = 0; i < formatCount; ++i)
    EXPECT_EQ(parseFormat(formatInfo(Format(i)).name), Format(i));
  EXPECT_FALSE(parseFormat("q2_k"));
  EXPECT_FALSE(parseFormat(""));
}

TEST(BlockFormat, RowBytesRefusesPartialBlocksAndOverflow) {
  EXPECT_EQ(rowBytes(Format::Q4_0, 64), 36u);
  EXPECT_EQ(rowBytes(Format::Q6_K, 512), 420u);
  EXPECT_EQ(rowBytes(Format::F32, 0), 0u);
  EXPECT_FALSE(rowBytes(Format::Q4_0, 33));
  EXPECT_FALSE(rowBytes(Format::Q4_K, 128));
  EXPECT_FALSE(rowBytes(Format::F32, -4));
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(rowBytes(Format::F32, max));
  EXPECT_EQ(rowBytes(Format::F16, max), uint64_t(max) * 2);
}

TEST(BlockFormat, EveryHalfConvertsBothWays) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(uint16_t(bits));
    auto expected = float(std::bit_cast<_Float16>(uint16_t(bits)));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(value),
              std::bit_cast<uint32_t>(expected));
    ASSERT_EQ(floatToHalf(value), bits);
  }
}

TEST(BlockFormat, FloatToHalfRoundsToNearestEven) {
  // All exponents of a float, with mantissas around the ties, and both signs.
  for (uint32_t high = 0; high < 0x7f80; ++high)
    for (uint32_t low : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x3000u, 0x7fffu,
                         0x8000u, 0xf001u})
      for (uint32_t sign : {0u, 0x80000000u}) {
        float value = std::bit_cast<float>(sign | high << 16 | low);
        auto expected = std::bit_cast<uint16_t>(_Float16(value));
        ASSERT_EQ(floatToHalf(value), expected) << value;
      }
}

TEST(BlockFormat, BfloatKeepsNansAndRounds) {
  EXPECT_TRUE(std::isnan(
      bfloatToFloat(floatToBfloat(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(bfloatToFloat(floatToBfloat(1.0f)), 1.0f);
  EXPECT_EQ(floatToBfloat(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(floatToBfloat(std::bit_cast<float>(0x3f818000u)), 0x3f82);
}

TEST(BlockFormat, NonFiniteScalesAreSeenAndSurvived) {
  for (const GoldenRow &row : readGolden()) {
    if (row.quantize)
      continue;
    auto elements = int64_t(row.values.size());
    EXPECT_TRUE(rowIsFinite(row.format, row.stored.data(), elements))
        << nameOf(row.format);
    // If all its bits are set, each place where a scale may lie holds a NaN.
    std::vector<uint8_t> hostile = row.stored;
    auto block = size_t(formatInfo(row.format).blockBytes);
    size_t from = hostile.size() / block / 2 * block;
    std::memset(hostile.data() + from, 0xff, block);
    EXPECT_FALSE(rowIsFinite(row.format, hostile.data(), elements))
        << nameOf(row.format);
    std::vector<float> values(row.values.size());
    dequantizeRow(row.format, hostile.data(), values.data(), elements);
  }
}

TEST(BlockFormat, NonFiniteAndTinyValuesAreQuantizedWithoutHarm) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (Format format : {Format::F32, Format::F16, Format::BF16, Format::Q8_0,
                        Format::Q4_0, Format::E4M3})
    for (float bad : {infinity, -infinity, NAN}) {
      std::vector<float> values(256, 1.0f), back(256);
      values[140] = bad;
      std::vector<uint8_t> stored(rowBytes(format, 256).value_or(0));
      quantizeRow(format, values.data(), stored.data(), 256);
      EXPECT_FALSE(rowIsFinite(format, stored.data(), 256));
      dequantizeRow(format, stored.data(), back.data(), 256);
      EXPECT_FALSE(std::isfinite(back[140]) && isQuantized(format) == false);
      EXPECT_NEAR(back[0], 1.0f, 0.01f);
    }
  std::vector<float> tiny(128, 1e-44f), back(128);
  for (Format format : {Format::Q8_0, Format::Q4_0, Format::E4M3}) {
    std::vector<uint8_t> stored(rowBytes(format, 128).value_or(0));
    quantizeRow(format, tiny.data(), stored.data(), 128);
    dequantizeRow(format, stored.data(), back.data(), 128);
    EXPECT_TRUE(rowIsFinite(format, stored.data(), 128));
    EXPECT_EQ(std::fabs(back[5]), 0.0f);
  }
}

TEST(E4M3Format, ValuesAreNumbersTimesTheirBlocksScale) {
  // Two blocks: all numbers but the NaNs, and the same numbers with another
  // scale.
  BlockE4M3 blocks[2] = {{0.375f, {}}, {-0x1.8p-20f, {}}};
  for (int i = 0; i < 128; ++i)
    blocks[0].qs[i] = blocks[1].qs[i] =
        uint8_t(i < 127 ? i | (i % 2 << 7) : 0x80);
  std::vector<float> values(256);
  dequantizeRow(Format::E4M3, blocks, values.data(), 256);
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(values[size_t(i)],
              e4m3ToFloat(blocks[0].qs[i % 128]) * blocks[i / 128].d);
  EXPECT_TRUE(rowIsFinite(Format::E4M3, blocks, 256));
}

TEST(E4M3Format, TheLargestOfABlockBecomesTheLargestNumber) {
  std::vector<float> values(256);
  values[0] = 0.5f;
  values[1] = -3.5f;
  values[2] = 1e-9f;
  values[128] = 7;
  BlockE4M3 blocks[2];
  quantizeRow(Format::E4M3, values.data(), blocks, 256);
  EXPECT_EQ(blocks[0].d, 3.5f / 448);
  EXPECT_EQ(blocks[0].qs[0], floatToE4M3(64));
  EXPECT_EQ(blocks[0].qs[1], 0xfe);
  EXPECT_EQ(blocks[0].qs[2], 0);
  EXPECT_EQ(blocks[1].d, 7.0f / 448);
  EXPECT_EQ(blocks[1].qs[0], 0x7e);
}

TEST(E4M3Format, NaNsAreSeenWhereverTheyStand) {
  std::vector<float> ones(256, 1.0f);
  BlockE4M3 blocks[2];
  quantizeRow(Format::E4M3, ones.data(), blocks, 256);
  for (uint8_t nan : {0x7f, 0xff}) {
    blocks[1].qs[127] = nan;
    EXPECT_FALSE(rowIsFinite(Format::E4M3, blocks, 256));
    EXPECT_TRUE(rowIsFinite(Format::E4M3, blocks, 128));
  }
  blocks[1].qs[127] = 0;
  // A scale that is finite, but the largest number times the scale is not.
  for (float scale : {NAN, INFINITY, -0x1p120f}) {
    blocks[1].d = scale;
    EXPECT_FALSE(rowIsFinite(Format::E4M3, blocks, 256));
  }
}
