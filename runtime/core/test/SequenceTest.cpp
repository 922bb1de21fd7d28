//===- SequenceTest.cpp - sequences fill steps in order -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Sequence.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace sluice;

namespace {

TEST(StepBatchTest, RowsContinueTheirSequence) {
  StepBatch batch(4, 2);
  ASSERT_TRUE(batch.add(0, 5, 10, false).ok());
  EXPECT_EQ(batch.add(0, 7, 11, false).message(),
            "step: sequence 0: position 7 does not follow 5");
  ASSERT_TRUE(batch.add(0, 6, 11, true).ok());
  ASSERT_TRUE(batch.add(3, 0, 12, true).ok());
  EXPECT_EQ(batch.add(0, 7, 13, false).message(),
            "step: the rows of sequence 0 do not lie together");
  EXPECT_EQ(batch.add(4, 0, 13, true).message(),
            "step: more than 2 rows ask for logits");
  ASSERT_TRUE(batch.add(4, 0, 13, false).ok());
  EXPECT_EQ(batch.add(5, 0, 1, false).message(), "step: more than 4 rows");
  EXPECT_EQ(batch.rows(), 4);
  EXPECT_EQ(batch.outputRows()[0], 1);
  EXPECT_EQ(batch.outputRows()[1], 2);
  batch.clear();
  EXPECT_EQ(batch.rows(), 0);
  EXPECT_EQ(batch.outputs(), 0);
  ASSERT_TRUE(batch.add(0, 0, 0, true).ok());
}

TEST(StepBatchTest, NumbersOutOfRangeAreRefused) {
  StepBatch batch(4, 2);
  EXPECT_FALSE(batch.add(-1, 0, 0, false).ok());
  EXPECT_FALSE(batch.add(0, -1, 0, false).ok());
  EXPECT_FALSE(batch.add(0, int64_t{1} << 31, 0, false).ok());
  EXPECT_FALSE(batch.add(0, 0, -1, false).ok());
  EXPECT_EQ(batch.rows(), 0);
}

TEST(SequenceTest, TheLimitIsKept) {
  Sequence sequence(2, 3);
  EXPECT_TRUE(sequence.append(std::vector<int32_t>{1, 2}).ok());
  EXPECT_EQ(sequence.append(std::vector<int32_t>{3, 4}).message(),
            "sequence 2: 2 + 2 tokens is more than the limit of 3");
  EXPECT_EQ(sequence.length(), 2);
  EXPECT_TRUE(sequence.append(3).ok());
  EXPECT_FALSE(sequence.append(4).ok());
}

TEST(SequenceTest, OnlyTheLastTokenAsksForLogits) {
  Sequence sequence(0, 10);
  ASSERT_TRUE(sequence.append(std::vector<int32_t>{7, 8, 9}).ok());
  StepBatch batch(2, 1);
  EXPECT_EQ(sequence.schedule(batch, 10, LogitsOf::Last), 2);
  EXPECT_EQ(batch.outputs(), 0);
  sequence.commit(2);
  batch.clear();
  EXPECT_EQ(sequence.schedule(batch, 10, LogitsOf::Last), 1);
  ASSERT_EQ(batch.outputs(), 1);
  EXPECT_EQ(batch.positions()[0], 2);
  EXPECT_EQ(batch.tokens()[0], 9);
}

TEST(SequenceTest, TheLastTokenWaitsForAnOutput) {
  Sequence sequence(1, 10);
  ASSERT_TRUE(sequence.append(std::vector<int32_t>{7, 8}).ok());
  StepBatch batch(8, 1);
  ASSERT_TRUE(batch.add(0, 0, 1, true).ok());
  EXPECT_EQ(sequence.schedule(batch, 10, LogitsOf::Last), 1);
  EXPECT_EQ(sequence.schedule(batch, 10, LogitsOf::All), 0);
}

TEST(SequenceTest, TruncateForgetsTokensAndTheirCache) {
  Sequence sequence(0, 10);
  ASSERT_TRUE(sequence.append(std::vector<int32_t>{1, 2, 3, 4}).ok());
  sequence.commit(3);
  sequence.truncate(2);
  EXPECT_EQ(sequence.length(), 2);
  EXPECT_EQ(sequence.computed(), 2);
  EXPECT_EQ(sequence.pending(), 0);
  sequence.truncate(9);
  EXPECT_EQ(sequence.length(), 2);
}

/// However steps are sized, every token is computed once, in order, and the
/// last one asks for logits.
TEST(SequenceTest, AnyChunkingCoversEveryTokenOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    int64_t length = 1 + random() % 50;
    std::vector<int32_t> tokens(length);
    std::iota(tokens.begin(), tokens.end(), 100);
    Sequence sequence(0, length);
    ASSERT_TRUE(sequence.append(tokens).ok());
    std::vector<int32_t> computed;
    int64_t outputs = 0;
    while (sequence.pending() > 0) {
      StepBatch batch(1 + random() % 9, 1);
      int64_t rows = sequence.schedule(batch, 1 + random() % 9, LogitsOf::Last);
      ASSERT_EQ(rows, batch.rows());
      ASSERT_GT(rows, 0);
      for (int64_t row = 0; row < rows; ++row) {
        ASSERT_EQ(batch.positions()[row],
                  static_cast<int64_t>(computed.size()));
        computed.push_back(batch.tokens()[row]);
      }
      outputs += batch.outputs();
      sequence.commit(rows);
    }
    EXPECT_EQ(computed, tokens);
    EXPECT_EQ(outputs, 1);
  }
}

} // namespace
