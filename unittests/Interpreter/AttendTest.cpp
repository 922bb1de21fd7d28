//===- AttendTest.cpp - causal attention over a cache ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected values are computed by hand where a few numbers suffice. Other tests
// check equalities that must hold for any numbers: chunks and the whole prompt,
// a sequence with others and alone, a window wider than the context and none.
//
//===----------------------------------------------------------------------===//

#include "sluice/Interpreter/Ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace sluice;
using namespace sluice::interpreter;
using testing::FloatNear;
using testing::Pointwise;

namespace {

std::vector<float> elements(const RowData &rows) {
  return {rows.elements().begin(), rows.elements().end()};
}

#define EXPECT_ROWS(actual, ...)                                               \
  EXPECT_THAT(elements(actual),                                                \
              Pointwise(FloatNear(1e-6), std::vector<float>{__VA_ARGS__}))

/// Returns rows `first` .. `first + count - 1` of one sequence.
StepBatch rowsOf(SequenceId sequence, int64_t first, int64_t count) {
  StepBatch batch(count, count);
  for (int64_t i = 0; i < count; ++i)
    EXPECT_TRUE(batch.add(sequence, first + i, 0, true).ok());
  return batch;
}

/// Returns numbers without a pattern in (-1, 1), the same on every run.
RowData scattered(int64_t rows, int64_t width, double seed) {
  RowData result(rows, width);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < width; ++i)
      result.row(r)[i] = std::sin(12.9898 * (r * width + i) + 78.233 * seed);
  return result;
}

RowData slice(const RowData &rows, int64_t first, int64_t count) {
  RowData result(count, rows.width());
  for (int64_t r = 0; r < count; ++r)
    std::ranges::copy(rows.row(first + r), result.row(r).begin());
  return result;
}

/// Returns a table of the pages of sequences 0 to 7.
const CachePages &table() {
  static const CachePages pages = [] {
    CachePages made = CachePages::create({8, 8, CachePages::pageTokens}).take();
    for (SequenceId sequence = 0; sequence < 8; ++sequence) {
      EXPECT_EQ(*made.open(), sequence);
      EXPECT_TRUE(made.grow(sequence, CachePages::pageTokens).ok());
    }
    return made;
  }();
  return pages;
}

/// Stores keys and values, then attends to all stored ones.
RowData appendAndAttend(const RowData &query, const RowData &key,
                        const RowData &value, KVCache &cache,
                        const StepBatch &batch, const AttendParams &params) {
  evalAppend(key, value, cache, batch, table());
  return evalAttend(query, cache, batch, params, table());
}

TEST(AttendTest, OnePositionIsItsValue) {
  KVCache cache(1, 2);
  EXPECT_ROWS(appendAndAttend(RowData(2, {3, 4}), RowData(2, {1, 1}),
                              RowData(2, {5, 6}), cache, rowsOf(0, 0, 1),
                              {.heads = 1, .scale = 1}),
              5, 6);
}

TEST(AttendTest, WeighsValuesByTheSoftmaxOfScores) {
  // Scores of row 1: scale * q.k = ln 3 and 0, so weights 3/4 and 1/4. Row 0
  // sees only itself.
  KVCache cache(1, 1);
  RowData query(1, {1, 1});
  RowData key(1, {2, 0});
  RowData value(1, {10, 20});
  EXPECT_ROWS(appendAndAttend(query, key, value, cache, rowsOf(0, 0, 2),
                              {.heads = 1, .scale = std::log(3.0) / 2}),
              10, 12.5);
}

TEST(AttendTest, LargeScoresDoNotOverflow) {
  KVCache cache(1, 1);
  EXPECT_ROWS(appendAndAttend(RowData(1, {1e4, 1e4}), RowData(1, {1e4, 0}),
                              RowData(1, {7, 9}), cache, rowsOf(0, 0, 2),
                              {.heads = 1, .scale = 1}),
              7, 7);
}

TEST(AttendTest, HeadsShareKeyHeadsInGroups) {
  // Four query heads over two key heads of one feature: heads 0 and 1 read the
  // first value, 2 and 3 the second.
  KVCache cache(2, 1);
  EXPECT_ROWS(appendAndAttend(RowData(4, {1, 2, 3, 4}), RowData(2, {1, 1}),
                              RowData(2, {10, 20}), cache, rowsOf(0, 0, 1),
                              {.heads = 4, .scale = 1}),
              10, 10, 20, 20);
}

TEST(AttendTest, GroupedEqualsMultiHeadWithRepeatedKeys) {
  RowData query = scattered(5, 8, 1);
  RowData key = scattered(5, 4, 2);
  RowData value = scattered(5, 4, 3);
  auto repeat = [](const RowData &rows) {
    // Two key heads of two features become four: a a b b.
    RowData result(rows.rows(), 8);
    for (int64_t r = 0; r < rows.rows(); ++r)
      for (int64_t h = 0; h < 4; ++h)
        std::ranges::copy(rows.row(r).subspan(h / 2 * 2, 2),
                          result.row(r).begin() + h * 2);
    return result;
  };
  KVCache grouped(2, 2);
  KVCache full(4, 2);
  AttendParams params{.heads = 4, .scale = 0.7};
  EXPECT_EQ(elements(appendAndAttend(query, key, value, grouped,
                                     rowsOf(0, 0, 5), params)),
            elements(appendAndAttend(query, repeat(key), repeat(value), full,
                                     rowsOf(0, 0, 5), params)));
}

TEST(AttendTest, WindowCountsTheRowItself) {
  // Equal scores: a row's result is the mean of the values it sees.
  RowData zeros(1, {0, 0, 0, 0});
  RowData value(1, {1, 2, 3, 4});
  auto attend = [&](std::optional<int64_t> window) {
    KVCache cache(1, 1);
    return appendAndAttend(zeros, zeros, value, cache, rowsOf(0, 0, 4),
                           {.heads = 1, .scale = 1, .window = window});
  };
  EXPECT_ROWS(attend(std::nullopt), 1, 1.5, 2, 2.5);
  EXPECT_ROWS(attend(4), 1, 1.5, 2, 2.5);
  EXPECT_ROWS(attend(2), 1, 1.5, 2.5, 3.5);
  EXPECT_ROWS(attend(1), 1, 2, 3, 4);
}

TEST(AttendTest, SoftcapBoundsScoresBeforeTheSoftmax) {
  // The score 50 becomes 2 tanh(25) = 2: weights e^2 and 1.
  KVCache cache(1, 1);
  double share = std::exp(2.0) / (std::exp(2.0) + 1);
  EXPECT_ROWS(appendAndAttend(RowData(1, {0, 10}), RowData(1, {5, 0}),
                              RowData(1, {1, 0}), cache, rowsOf(0, 0, 2),
                              {.heads = 1, .scale = 1, .softcap = 2}),
              1, static_cast<float>(share));
}

TEST(AttendTest, AlibiPrefersNearPositions) {
  // Two heads: slopes 1/16 and 1/256, both times 3. Scores are 0, so position
  // 0 of row 1 weighs e^-slope against 1.
  KVCache cache(2, 1);
  RowData zeros(2, {0, 0, 0, 0});
  RowData value(2, {1, 1, 0, 0});
  auto share = [](double slope) {
    return static_cast<float>(std::exp(-slope) / (1 + std::exp(-slope)));
  };
  EXPECT_ROWS(appendAndAttend(zeros, zeros, value, cache, rowsOf(0, 0, 2),
                              {.heads = 2, .scale = 1, .alibi = 3}),
              1, 1, share(3.0 / 16), share(3.0 / 256));
}

TEST(AlibiSlopesTest, PowersOfTwo) {
  EXPECT_THAT(alibiSlopes(1), testing::ElementsAre(std::exp2(-8)));
  EXPECT_THAT(alibiSlopes(4),
              testing::ElementsAre(0.25, 0.0625, 0.015625, 0.00390625));
}

TEST(AlibiSlopesTest, OthersTakeEveryOtherSlopeOfTwiceAsMany) {
  // 2^-4, 2^-8 of two heads, then 2^-2 (and 2^-6) of four.
  EXPECT_THAT(alibiSlopes(3), testing::ElementsAre(0.0625, 0.00390625, 0.25));
}

/// Returns parameters with all options on, so that equalities cover all of
/// them.
AttendParams everything() {
  return {.heads = 4, .scale = 0.5, .window = 5, .softcap = 3, .alibi = 1};
}

TEST(AttendTest, ChunksEqualTheWhole) {
  RowData query = scattered(12, 8, 1);
  RowData key = scattered(12, 4, 2);
  RowData value = scattered(12, 4, 3);
  KVCache wholeCache(2, 2);
  RowData whole = appendAndAttend(query, key, value, wholeCache,
                                  rowsOf(0, 0, 12), everything());
  for (int64_t chunk : {1, 5, 7}) {
    KVCache cache(2, 2);
    for (int64_t first = 0; first < 12; first += chunk) {
      int64_t count = std::min<int64_t>(chunk, 12 - first);
      RowData part =
          appendAndAttend(slice(query, first, count), slice(key, first, count),
                          slice(value, first, count), cache,
                          rowsOf(0, first, count), everything());
      EXPECT_EQ(elements(part), elements(slice(whole, first, count)));
    }
  }
}

TEST(AttendTest, SequencesDoNotSeeEachOther) {
  RowData query = scattered(6, 8, 1);
  RowData key = scattered(6, 4, 2);
  RowData value = scattered(6, 4, 3);
  KVCache alone(2, 2);
  RowData expected =
      appendAndAttend(slice(query, 2, 4), slice(key, 2, 4), slice(value, 2, 4),
                      alone, rowsOf(7, 0, 4), everything());

  StepBatch batch(6, 6);
  for (int64_t i = 0; i < 2; ++i)
    ASSERT_TRUE(batch.add(3, i, 0, true).ok());
  for (int64_t i = 0; i < 4; ++i)
    ASSERT_TRUE(batch.add(7, i, 0, true).ok());
  KVCache cache(2, 2);
  RowData together =
      appendAndAttend(query, key, value, cache, batch, everything());
  EXPECT_EQ(elements(slice(together, 2, 4)), elements(expected));
}

TEST(AttendTest, MembersOfAGroupAttendAsTheWholeDoes) {
  RowData query = scattered(6, 8, 1);
  RowData key = scattered(6, 4, 2);
  RowData value = scattered(6, 4, 3);
  KVCache whole(2, 2);
  RowData expected =
      appendAndAttend(query, key, value, whole, rowsOf(0, 0, 6), everything());
  auto part = [](const RowData &rows, int64_t first, int64_t width) {
    RowData result(rows.rows(), width);
    for (int64_t r = 0; r < rows.rows(); ++r)
      std::ranges::copy(rows.row(r).subspan(first, width),
                        result.row(r).begin());
    return result;
  };
  for (int64_t member : {0, 1}) {
    AttendParams params = everything();
    params.heads = 2;
    params.allHeads = 4;
    params.firstHead = 2 * member;
    KVCache cache(1, 2);
    RowData result = appendAndAttend(
        part(query, 4 * member, 4), part(key, 2 * member, 2),
        part(value, 2 * member, 2), cache, rowsOf(0, 0, 6), params);
    EXPECT_EQ(elements(result), elements(part(expected, 4 * member, 4)));
  }
}

TEST(AttendTest, GoingBackReplacesTheEnd) {
  RowData query = scattered(3, 2, 1);
  RowData key = scattered(3, 2, 2);
  RowData value = scattered(3, 2, 3);
  AttendParams params{.heads = 1, .scale = 1};
  KVCache cache(1, 2);
  RowData first =
      appendAndAttend(query, key, value, cache, rowsOf(0, 0, 3), params);
  // Two other rows are stored from position 1 on, then the same rows again.
  appendAndAttend(slice(query, 0, 2), slice(key, 0, 2), slice(value, 0, 2),
                  cache, rowsOf(0, 1, 2), params);
  RowData again =
      appendAndAttend(slice(query, 1, 2), slice(key, 1, 2), slice(value, 1, 2),
                      cache, rowsOf(0, 1, 2), params);
  EXPECT_EQ(elements(again), elements(slice(first, 1, 2)));
}

} // namespace
