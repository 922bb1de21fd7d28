//===- StepTablesTest.cpp - the tables of a step's rows -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/step/StepTables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;
using testing::ElementsAre;

namespace {

class StepTablesTest : public testing::Test {
protected:
  StepTablesTest() {
    limits.rows = 64;
    limits.outputs = 8;
    limits.sequences = 6;
    limits.contextLength = 4096;
    block.resize(size_t(TableLayout(limits, limits.rows).words), -7);
    tables.emplace(limits, block.data());
  }

  SequenceId open(int64_t length) {
    SequenceId id = *pages.open();
    EXPECT_TRUE(pages.grow(id, length).ok());
    return id;
  }
  void add(SequenceId id, int64_t position, int32_t token = 1) {
    ASSERT_TRUE(batch.add(id, position, token, false).ok());
  }

  Status fill(const StepTables::Attention &attention, int64_t rows = 64) {
    layout.emplace(limits, rows);
    return tables->fill({&batch, &pages}, *layout, attention);
  }
  /// Returns the places of the first rows.
  std::vector<int32_t> places() {
    auto first = block.begin() + layout->spanPlaces;
    return {first, first + batch.rows()};
  }

  CudaExecutorOptions limits;
  CachePages pages = CachePages::create({1024, 6, 4096}).take();
  StepBatch batch{64, 8, 64};
  std::vector<int32_t> block;
  std::optional<StepTables> tables;
  std::optional<TableLayout> layout;
};

} // namespace

TEST_F(StepTablesTest, PagesOfSequencesLieBehindEachOther) {
  SequenceId first = open(70), second = open(33), third = open(5);
  add(third, 4);
  add(first, 68);
  add(first, 69);
  ASSERT_TRUE(batch.addMirror(0, second).ok());
  ASSERT_TRUE(fill({}, 4).ok());
  const int32_t *sequences = block.data() + layout->sequenceOf;
  EXPECT_EQ(sequences[0], 0);
  EXPECT_EQ(sequences[1], 1);
  EXPECT_EQ(sequences[2], 1);
  EXPECT_EQ(block[size_t(layout->mirrorSequences)], 4);
  std::vector<int32_t> wanted;
  for (SequenceId id : {third, first, second})
    wanted.insert(wanted.end(), pages.pages(id).begin(), pages.pages(id).end());
  const int32_t *written = block.data() + layout->pages;
  EXPECT_EQ(std::vector<int32_t>(written, written + wanted.size()), wanted);
  StepTables::Part rows = tables->stepParts()[0];
  EXPECT_EQ(rows.first, TableLayout::Rows);
  EXPECT_EQ(rows.first + rows.count, layout->pages + int64_t(wanted.size()));
  for (int part : {1, 2})
    EXPECT_EQ(tables->stepParts()[size_t(part)].count, 1);
}

TEST_F(StepTablesTest, RowsSayTheirTokens) {
  SequenceId id = open(3);
  for (int32_t i : {0, 1, 2})
    add(id, i, 100 + i);
  ASSERT_TRUE(fill({}).ok());
  const int32_t *tokens = block.data() + layout->tokens;
  EXPECT_THAT(std::vector(tokens, tokens + 3), ElementsAre(100, 101, 102));
}

/// The tables of no graph end after those of the largest, for which there is
/// room.
TEST_F(StepTablesTest, LayoutsOfFewRowsAreShorter) {
  int64_t before = 0;
  for (int64_t rows : {1, 2, 64}) {
    TableLayout each(limits, rows);
    EXPECT_GE(each.words, before);
    before = each.words;
  }
}

TEST_F(StepTablesTest, PlacesGoToTheLongestRowsFirst) {
  // The rows have 1, 3, 8 and 2 spans.
  for (int64_t length : {128, 300, 1000, 130})
    add(open(length), length - 1);
  ASSERT_TRUE(fill({13, {}}).ok());
  EXPECT_THAT(places(), ElementsAre(-1, 0, 3, 11));
  ASSERT_TRUE(fill({12, {}}).ok());
  EXPECT_THAT(places(), ElementsAre(-1, 8, 0, -1));
  // A row that does not fit leaves its room to shorter ones.
  ASSERT_TRUE(fill({5, {}}).ok());
  EXPECT_THAT(places(), ElementsAre(-1, 0, -1, 3));
  ASSERT_TRUE(fill({0, {}}).ok());
  EXPECT_THAT(places(), ElementsAre(-1, -1, -1, -1));
}

/// Rows that a kernel for prompts computes need no places.
TEST_F(StepTablesTest, ChunksOfPromptsNeedNone) {
  SequenceId prompt = open(1000), other = open(400);
  for (int64_t i = 0; i < 10; ++i)
    add(prompt, 990 + i);
  add(other, 399);
  const int32_t four[] = {4}, both[] = {4, 8}, six[] = {6};
  ASSERT_TRUE(fill({100, four}).ok());
  EXPECT_THAT(places(), ElementsAre(-1, -1, -1, -1, -1, -1, -1, -1, 0, 8, 16));
  // If layers differ, only rows that are in tiles of all layers need none.
  ASSERT_TRUE(fill({100, both}).ok());
  EXPECT_THAT(places(), ElementsAre(-1, -1, -1, -1, -1, -1, -1, -1, 0, 8, 16));
  // The second tile is not of one sequence.
  ASSERT_TRUE(fill({100, six}).ok());
  EXPECT_THAT(places(), ElementsAre(-1, -1, -1, -1, -1, -1, 0, 8, 16, 24, 32));
}

TEST_F(StepTablesTest, TooManySequences) {
  for (int i = 0; i < 6; ++i)
    add(open(1), 0);
  ASSERT_TRUE(fill({}).ok());
  limits.sequences = 5;
  EXPECT_THAT(fill({}).message(), testing::HasSubstr("more than 5 sequences"));
}
