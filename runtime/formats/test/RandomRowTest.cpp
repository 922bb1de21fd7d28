//===- RandomRowTest.cpp - tests of random weights without a file ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/RandomRow.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace sluice;

namespace {

constexpr int64_t elements = 64 * 256;

std::vector<uint8_t> bytesOf(Format format, uint64_t key,
                             const RandomSpread &spread) {
  std::vector<uint8_t> row(*rowBytes(format, elements) + 1, 0xa5);
  writeRandomRow(format, key, spread, row.data(), elements);
  EXPECT_EQ(row.back(), 0xa5) << "writes behind its end";
  row.pop_back();
  return row;
}

class RandomRow : public testing::TestWithParam<int> {
protected:
  Format format() const { return Format(GetParam()); }
};

/// The deviations are typical of models, from narrow to wide layers.
TEST_P(RandomRow, HasTheDeviationThatIsAskedFor) {
  for (float deviation : {0.2f, 0.02f, 0.004f}) {
    SCOPED_TRACE(deviation);
    auto row = bytesOf(format(), 7, {0, deviation});
    ASSERT_TRUE(rowIsFinite(format(), row.data(), elements));
    std::vector<float> values(elements);
    dequantizeRow(format(), row.data(), values.data(), elements);
    double sum = 0, squares = 0;
    for (float value : values) {
      sum += value;
      squares += double(value) * value;
      EXPECT_LE(std::fabs(value), 8 * deviation);
    }
    double mean = sum / elements;
    EXPECT_LE(std::fabs(mean), 0.05 * deviation);
    EXPECT_NEAR(std::sqrt(squares / elements - mean * mean), deviation,
                0.12 * deviation);
  }
}

TEST_P(RandomRow, IsDecidedByItsKey) {
  auto row = bytesOf(format(), 7, {0, 1});
  EXPECT_EQ(row, bytesOf(format(), 7, {0, 1}));
  EXPECT_NE(row, bytesOf(format(), 8, {0, 1}));
}

INSTANTIATE_TEST_SUITE_P(Formats, RandomRow, testing::Range(0, formatCount),
                         [](const auto &info) {
                           return std::string(
                               formatInfo(Format(info.param)).name);
                         });

TEST(RandomRowMean, OfPlainFormats) {
  std::vector<float> values(elements);
  writeRandomRow(Format::F32, 3, {1, 0.01f}, values.data(), elements);
  for (float value : values)
    EXPECT_NEAR(value, 1, 0.02);
}

/// So results of different machines can be compared.
TEST(RandomRowMean, IsTheSameEverywhere) {
  std::vector<float> values(2);
  writeRandomRow(Format::F32, 1, {0, 1}, values.data(), 2);
  EXPECT_EQ(values[0], 0x1.414f18p+0f);
  EXPECT_EQ(values[1], -0x1.9c3376p+0f);
  EXPECT_EQ(randomKey(1, 2), 16171810823986729605u);
}

/// Compares hashes of the bytes of rows of each format (FNV-1a).
TEST_P(RandomRow, IsTheSameEverywhere) {
  constexpr uint64_t hashes[formatCount] = {
      12769612928052186501u, 14852074050964766608u, 6810980217883869835u,
      13830816955962088476u, 9221028954827764686u,  5976835990576052012u,
      7336140384780880967u,  17043772036428551679u, 12217364836703220841u,
      8236910255197252925u,  2265267784806573505u,  5553270051059759960u};
  uint64_t hash = 0xcbf29ce484222325;
  for (float deviation : {0.02f, 0.3f}) {
    std::vector<uint8_t> row(*rowBytes(format(), 2560));
    writeRandomRow(format(), 11, {0, deviation}, row.data(), 2560);
    for (uint8_t byte : row)
      hash = (hash ^ byte) * 0x100000001b3;
  }
  EXPECT_EQ(hash, hashes[GetParam()]);
}

TEST(RandomRowKeys, Differ) {
  EXPECT_NE(randomKey(1, 2), randomKey(2, 1));
  EXPECT_NE(randomKey(1, 2), randomKey(1, 3));
  EXPECT_NE(randomKey(1, 2), randomKey(2, 2));
}

} // namespace
