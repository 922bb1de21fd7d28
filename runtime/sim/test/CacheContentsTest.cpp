//===- CacheContentsTest.cpp - paths in the cache -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/CacheContents.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::sim;

namespace {

/// A stage, its cache and what would lie in it.
struct Fixture {
  Fixture()
      : pages(CachePages::create({32, 8, 64}).take()), board(1),
        stage(Stage::create(limits(), pages, board).take()), contents(32) {}

  static StageLimits limits() {
    StageLimits limits;
    limits.contextLength = 64;
    limits.branches = 8;
    return limits;
  }

  /// Enqueues rows of (node, parent, position) and forms a step of them.
  void form(std::initializer_list<std::array<int, 3>> rows, bool opens) {
    StepFrame frame;
    if (opens) {
      OpenRequest open;
      open.promptTokens = 1;
      frame.opens.push_back(open);
    }
    for (const auto &[node, parent, position] : rows) {
      Row row;
      row.node = node;
      row.parent = parent;
      row.position = position;
      row.token = 100 + node;
      row.certain = node == 0;
      frame.rows.push_back(row);
    }
    ASSERT_TRUE(stage.enqueue(std::move(frame)));
    Expected<bool> formed = stage.formStep();
    ASSERT_TRUE(formed) << formed.status().message();
    ASSERT_TRUE(*formed);
  }

  Status end() {
    Status status = contents.endStep(stage, pages);
    StepFrame outgoing;
    stage.finishStep(outgoing);
    return status;
  }

  CachePages pages;
  EpochBoard board;
  Stage stage;
  CacheContents contents;
};

TEST(CacheContentsTest, BranchesFindTheirOwnPaths) {
  Fixture f;
  // 0 - 1 - 2, and 3 beside 1: its page is copied before 0 is stored.
  f.form({{0, -1, 0}, {1, 0, 1}, {2, 1, 2}, {3, 0, 1}}, true);
  EXPECT_GT(f.stage.batch().mirrors().size(), 0u);
  f.contents.beginStep(f.stage, f.pages);
  EXPECT_TRUE(f.end().ok());
  // 4 beside 2, 5 behind 3.
  f.form({{4, 1, 2}, {5, 3, 2}}, false);
  f.contents.beginStep(f.stage, f.pages);
  EXPECT_TRUE(f.end().ok());
}

TEST(CacheContentsTest, APageThatWasNotCopiedIsFound) {
  Fixture f;
  f.form({{0, -1, 0}, {1, 0, 1}, {2, 1, 2}}, true);
  f.contents.beginStep(f.stage, f.pages);
  ASSERT_TRUE(f.end().ok());
  f.form({{3, 0, 1}}, false);
  ASSERT_GT(f.stage.pageCopies().size(), 0u);
  // No beginStep(): the copy is not made.
  Status status = f.end();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "request 0, row 3 at position 1: position 0 of "
                              "its cache is not its path's");
}

TEST(CacheContentsTest, RowsThatLeftAreNotInTheCache) {
  Fixture f;
  f.form({{0, -1, 0}, {1, 0, 1}, {2, 0, 1}}, true);
  f.contents.beginStep(f.stage, f.pages);
  // 2 is confirmed while the step is computed: 1 leaves.
  EpochMark mark;
  mark.confirmed = 2;
  f.board.publish(mark);
  f.stage.checkpoint();
  ASSERT_EQ(f.stage.batch().rows(), 2);
  EXPECT_TRUE(f.end().ok());
  f.form({{3, 2, 2}}, false);
  f.contents.beginStep(f.stage, f.pages);
  EXPECT_TRUE(f.end().ok());
}

} // namespace
