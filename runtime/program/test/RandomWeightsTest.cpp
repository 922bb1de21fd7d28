//===- RandomWeightsTest.cpp - tests of weights made from a seed ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/RandomWeights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace sluice;

namespace {

WeightDescriptor weight(std::string name, uint64_t offset, Format format,
                        int64_t rows, int64_t cols, WeightUse use) {
  WeightDescriptor made;
  made.name = std::move(name);
  made.offset = offset;
  made.rows = rows;
  made.cols = cols;
  made.stored = made.format = format;
  made.use = use;
  made.bytes = uint64_t(rows) * *rowBytes(format, cols);
  return made;
}

ProgramDescriptor program() {
  ProgramDescriptor made;
  made.weights = {
      weight("table", 1000, Format::Q8_0, 40, 64, WeightUse::Rows),
      weight("norm.weight", 10, Format::F32, 1, 64, WeightUse::Vector),
      weight("fc.bias", 300, Format::F16, 1, 64, WeightUse::Vector),
      // The same bytes, for another use.
      weight("table", 1000, Format::Q8_0, 40, 64, WeightUse::Linear),
      weight("wide", 9001, Format::BF16, 7, 1024, WeightUse::Linear)};
  return made;
}

RandomWeights filled(const ProgramDescriptor &program, uint64_t seed,
                     int64_t threads) {
  Expected<RandomWeights> made = RandomWeights::reserve(program);
  EXPECT_TRUE(made.ok()) << made.status().message();
  cpu::ThreadPool pool(threads);
  Status s = made->fill(program, seed, pool, nullptr);
  EXPECT_TRUE(s.ok()) << s.message();
  return made.take();
}

std::vector<uint8_t> bytesOf(const RandomWeights &made,
                             const WeightDescriptor &weight) {
  const uint8_t *data = made.data(weight.file, weight.offset);
  return {data, data + weight.bytes};
}

TEST(RandomWeights, AreOfTheSeedAlone) {
  const ProgramDescriptor whole = program();
  const RandomWeights one = filled(whole, 1, 1), again = filled(whole, 1, 3);
  const RandomWeights other = filled(whole, 2, 1);
  // A stage of the program, with its weights in another order.
  ProgramDescriptor stage = whole;
  stage.weights = {whole.weights[4], whole.weights[1]};
  const RandomWeights part = filled(stage, 1, 2);
  for (const WeightDescriptor &each : whole.weights) {
    EXPECT_EQ(bytesOf(one, each), bytesOf(again, each)) << each.name;
    EXPECT_NE(bytesOf(one, each), bytesOf(other, each)) << each.name;
  }
  for (const WeightDescriptor &each : stage.weights)
    EXPECT_EQ(bytesOf(one, each), bytesOf(part, each)) << each.name;
  EXPECT_EQ(one.data(0, whole.weights[0].offset),
            one.data(0, whole.weights[3].offset));
}

TEST(RandomWeights, HaveSensibleMagnitudes) {
  const ProgramDescriptor whole = program();
  const RandomWeights made = filled(whole, 5, 2);
  const double means[] = {0, 1, 0, 0, 0};
  const double deviations[] = {1 / 8.0, 0.02, 0.02, 1 / 8.0, 1 / 32.0};
  for (size_t i = 0; i < whole.weights.size(); ++i) {
    const WeightDescriptor &each = whole.weights[i];
    SCOPED_TRACE(each.name);
    std::vector<float> values(size_t(each.rows * each.cols));
    const uint8_t *data = made.data(each.file, each.offset);
    ASSERT_TRUE(rowIsFinite(each.stored, data, values.size()));
    dequantizeRow(each.stored, data, values.data(), values.size());
    double squares = 0;
    for (float value : values)
      squares += (value - means[i]) * (value - means[i]);
    EXPECT_NEAR(std::sqrt(squares / values.size()), deviations[i],
                0.2 * deviations[i]);
  }
  // Different rows have different numbers.
  const uint8_t *wide = made.data(0, whole.weights[4].offset);
  EXPECT_NE(std::memcmp(wide, wide + 2048, 2048), 0);
}

TEST(RandomWeights, HaveScalesWhereThoseLieApart) {
  ProgramDescriptor one;
  one.weights = {weight("w", 500, Format::E4M3, 256, 256, WeightUse::Linear)};
  one.weights[0].bytes = 256 * 256;
  one.weights[0].scales = ScalesDescriptor{1, 40, Format::BF16, 2, 2};
  const RandomWeights made = filled(one, 9, 2);
  SlicedMatrix matrix =
      one.weights[0].matrix(made.data(0, 500), made.data(1, 40));
  std::vector<uint8_t> blocks;
  matrix.copy(0, 256, 0, 256, blocks);
  std::vector<float> values(256 * 256);
  ASSERT_TRUE(rowIsFinite(Format::E4M3, blocks.data(), 256 * 256));
  dequantizeRow(Format::E4M3, blocks.data(), values.data(), 256 * 256);
  double squares = 0;
  for (float value : values)
    squares += double(value) * value;
  EXPECT_NEAR(std::sqrt(squares / (256 * 256)), 1 / 16.0, 0.5 / 16);
}

/// Memory is used only for weights that are made here, and for weights that
/// share their place with one of them.
TEST(RandomWeights, LeaveOutWhatIsMadeElsewhere) {
  const ProgramDescriptor whole = program();
  Expected<RandomWeights> made =
      RandomWeights::reserve(whole, {true, false, false, true, true});
  ASSERT_TRUE(made.ok());
  cpu::ThreadPool pool(2);
  ASSERT_TRUE(made->fill(whole, 1, pool, nullptr).ok());
  const RandomWeights all = filled(whole, 1, 1);
  for (size_t i : {0u, 3u, 4u})
    EXPECT_EQ(made->data(0, whole.weights[i].offset), nullptr);
  for (size_t i : {1u, 2u})
    EXPECT_EQ(bytesOf(*made, whole.weights[i]), bytesOf(all, whole.weights[i]));
  made = RandomWeights::reserve(whole, {true, true, true, false, true});
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(made->fill(whole, 1, pool, nullptr).ok());
  EXPECT_EQ(bytesOf(*made, whole.weights[0]), bytesOf(all, whole.weights[0]));
  // No weight is made here.
  made = RandomWeights::reserve(whole, std::vector<bool>(5, true));
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->fill(whole, 1, pool, nullptr).ok());
}

/// A device makes rows itself from their keys and their spread.
TEST(RandomWeights, AreTheRowsThatAreSaid) {
  const ProgramDescriptor whole = program();
  const RandomWeights made = filled(whole, 8, 2);
  for (const WeightDescriptor &each : whole.weights) {
    const RandomRows rows = randomRows(each, 8);
    std::vector<uint8_t> bytes(each.bytes);
    for (int64_t row = 0; row < each.rows; ++row)
      writeRandomRow(each.stored, rows.keyOf(row), rows.spread,
                     bytes.data() + uint64_t(row) * *each.storedRowBytes(),
                     each.cols);
    EXPECT_EQ(bytes, bytesOf(made, each)) << each.name;
  }
}

TEST(RandomWeights, CanBeInterrupted) {
  const ProgramDescriptor whole = program();
  Expected<RandomWeights> made = RandomWeights::reserve(whole);
  ASSERT_TRUE(made.ok());
  cpu::ThreadPool pool(1);
  EXPECT_EQ(made->fill(whole, 1, pool, [] { return true; }).message(),
            "interrupted");
}

TEST(RandomWeights, RefuseWhatNoMachineHas) {
  ProgramDescriptor huge = program();
  huge.weights[0].bytes = ~uint64_t(0) - 3;
  EXPECT_FALSE(RandomWeights::reserve(huge).ok());
  huge.weights[0].bytes = uint64_t(1) << 62;
  EXPECT_FALSE(RandomWeights::reserve(huge).ok());
}

} // namespace
