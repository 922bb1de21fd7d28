//===- StepBatchTest.cpp - rows leave with their records ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StepBatch.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace sluice;

namespace {

template <typename T> std::vector<T> list(std::span<const T> values) {
  return {values.begin(), values.end()};
}

TEST(StepBatchTest, MirrorsAreChecked) {
  StepBatch batch(4, 4, 2);
  ASSERT_TRUE(batch.add(0, 5, 50, false).ok());
  ASSERT_TRUE(batch.add(0, 6, 60, true).ok());
  EXPECT_EQ(batch.addMirror(2, 1).message(), "step: a mirror of row 2, of 2");
  EXPECT_EQ(batch.addMirror(0, 0).message(),
            "step: row 0 of sequence 0 cannot be mirrored in sequence 0");
  ASSERT_TRUE(batch.addMirror(1, 3).ok());
  EXPECT_EQ(batch.addMirror(0, 3).message(),
            "step: a mirror of row 0 after one of row 1");
  ASSERT_TRUE(batch.addMirror(1, 4).ok());
  EXPECT_EQ(batch.addMirror(1, 5).message(), "step: more than 2 mirrors");
  EXPECT_EQ(list(batch.mirrors()), (std::vector<Mirror>{{1, 3}, {1, 4}}));
  batch.clear();
  EXPECT_TRUE(batch.mirrors().empty());
}

TEST(StepBatchTest, WhatLeavesTakesItsOutputsAndMirrorsAlong) {
  StepBatch batch(8, 8, 8);
  ASSERT_TRUE(batch.add(0, 5, 50, true).ok());
  ASSERT_TRUE(batch.add(0, 6, 60, false).ok());
  ASSERT_TRUE(batch.add(1, 2, 20, true).ok());
  ASSERT_TRUE(batch.add(2, 9, 90, true).ok());
  for (auto [row, sequence] : {std::pair{0, 7}, {1, 5}, {3, 6}, {3, 8}})
    ASSERT_TRUE(batch.addMirror(row, sequence).ok());
  std::vector<uint8_t> alive = {0, 1, 0, 1};
  std::vector<RowMove> moves;
  int64_t rows = planCompaction(alive, moves);
  batch.keep(alive, moves, rows);
  EXPECT_EQ(list(batch.tokens()), (std::vector<int32_t>{90, 60}));
  EXPECT_EQ(list(batch.positions()), (std::vector<int32_t>{9, 6}));
  EXPECT_EQ(list(batch.sequences()), (std::vector<int32_t>{2, 0}));
  EXPECT_EQ(list(batch.outputRows()), (std::vector<int32_t>{0}));
  EXPECT_EQ(list(batch.mirrors()),
            (std::vector<Mirror>{{0, 6}, {0, 8}, {1, 5}}));

  // Then all other rows leave.
  std::vector<uint8_t> none = {0, 0};
  batch.keep(none, {}, 0);
  EXPECT_EQ(batch.rows(), 0);
  EXPECT_EQ(batch.outputs(), 0);
  EXPECT_TRUE(batch.mirrors().empty());
  batch.clear();
  EXPECT_TRUE(batch.add(0, 5, 50, true).ok());
}

/// A row is recognised by its token: over several checkpoints, each row keeps
/// its values, whichever rows leave.
TEST(StepBatchTest, AnySeriesOfCheckpointsKeepsRowsWhole) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    int64_t rows = 1 + random() % 40;
    StepBatch batch(rows, rows, rows * 2);
    std::vector<int> mirrors(static_cast<size_t>(rows));
    std::vector<bool> wants(static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; ++row) {
      wants[row] = random() % 2;
      // Each row has its own sequence, with the row's number, and a position
      // after it.
      ASSERT_TRUE(batch.add(row, row * 3, row, wants[row]).ok());
    }
    for (int64_t row = 0; row < rows; ++row)
      for (mirrors[row] = 0; mirrors[row] < int(random() % 3); ++mirrors[row])
        ASSERT_TRUE(batch.addMirror(row, 1000 + row * 2 + mirrors[row]).ok());
    for (int checkpoint = 0; checkpoint < 3; ++checkpoint) {
      std::vector<uint8_t> alive;
      std::vector<int32_t> expected;
      for (int32_t token : batch.tokens()) {
        alive.push_back(random() % 3 != 0);
        if (alive.back())
          expected.push_back(token);
      }
      std::vector<RowMove> moves;
      int64_t now = planCompaction(alive, moves);
      batch.keep(alive, moves, now);
      std::vector<int32_t> living = list(batch.tokens());
      int64_t outputs = 0;
      size_t mirror = 0;
      for (int64_t row = 0; row < batch.rows(); ++row) {
        int32_t name = batch.tokens()[row];
        ASSERT_EQ(batch.positions()[row], name * 3);
        ASSERT_EQ(batch.sequences()[row], name);
        if (wants[name])
          ASSERT_EQ(batch.outputRows()[outputs++], row);
        for (int i = 0; i < mirrors[name]; ++i)
          ASSERT_EQ(batch.mirrors()[mirror++],
                    (Mirror{static_cast<int32_t>(row), 1000 + name * 2 + i}));
      }
      ASSERT_EQ(batch.outputs(), outputs);
      ASSERT_EQ(batch.mirrors().size(), mirror);
      std::sort(living.begin(), living.end());
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(living, expected);
    }
  }
}

} // namespace
