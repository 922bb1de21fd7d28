//===- CacheContentsTest.cpp - paths in the cache -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/sim/CacheContents.h"

#include "runtime/core/test/RandomPipeline.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::test;
using namespace sluice::sim;

namespace {

/// A stage, its cache, and the expected contents.
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
      open.knownTokens = 1;
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
  // 0 - 1 - 2, and 3 as a sibling of 1: its page is copied before 0 is stored.
  f.form({{0, -1, 0}, {1, 0, 1}, {2, 1, 2}, {3, 0, 1}}, true);
  EXPECT_GT(f.stage.batch().mirrors().size(), 0u);
  f.contents.beginStep(f.stage, f.pages);
  EXPECT_TRUE(f.end().ok());
  // 4 is a sibling of 2, and 5 a child of 3.
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
  // Without beginStep() the copy is not made.
  Status status = f.end();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(), "request 0, row 3 at position 1: position 0 of "
                              "its cache is not its path's");
}

TEST(CacheContentsTest, RowsThatLeftAreNotInTheCache) {
  Fixture f;
  f.form({{0, -1, 0}, {1, 0, 1}, {2, 0, 1}}, true);
  f.contents.beginStep(f.stage, f.pages);
  // Row 2 is confirmed while the step is computed, so row 1 leaves.
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

/// Two requests, the first of which has two full pages, which are pinned.
struct SharingFixture {
  SharingFixture()
      : pages(CachePages::create({32, 8, 96}).take()), board(2),
        stage(Stage::create(limits(), pages, board).take()), contents(32) {
    EXPECT_TRUE(step(opening(66)).ok());
    StepFrame frame;
    frame.pins = {{0, 65, 0, 0}, {0, 65, 1, 1}};
    EXPECT_TRUE(step(std::move(frame)).ok());
  }

  static StageLimits limits() {
    StageLimits limits;
    limits.requests = 2;
    limits.contextLength = 96;
    limits.branches = 8;
    limits.sharedPages = 4;
    return limits;
  }

  Status step(StepFrame frame) {
    EXPECT_TRUE(stage.enqueue(std::move(frame)));
    Expected<bool> formed = stage.formStep();
    EXPECT_TRUE(formed) << formed.status().message();
    contents.beginStep(stage, pages);
    Status status = contents.endStep(stage, pages);
    StepFrame outgoing;
    stage.finishStep(outgoing);
    return status;
  }

  /// Returns a request with the same tokens, the first `shared` pages of which
  /// are computed.
  static StepFrame openingFrame(int64_t shared) {
    StepFrame frame = opening(66, 1, 0);
    const StepFrame first = opening(66);
    for (size_t at = 0; at < frame.rows.size(); ++at)
      frame.rows[at].token = first.rows[at].token;
    for (int64_t page = 0; page < shared; ++page)
      frame.opens[0].prefixPages.push_back(static_cast<SharedPage>(page));
    auto end = frame.rows.begin() + shared * CachePages::pageTokens;
    for (auto row = frame.rows.begin(); row != end; ++row)
      frame.opens[0].prefix.push_back(row->token);
    frame.rows.erase(frame.rows.begin(), end);
    return frame;
  }

  CachePages pages;
  EpochBoard board;
  Stage stage;
  CacheContents contents;
};

TEST(CacheContentsTest, APrefixIsWhoeversTokensAreTheSame) {
  for (int64_t shared : {0, 1, 2}) {
    SharingFixture f;
    Status status = f.step(SharingFixture::openingFrame(shared));
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(f.pages.pages(0)[0] == f.pages.pages(1)[0], shared > 0);
  }
}

/// A different page, or a page with different tokens before it, is found.
TEST(CacheContentsTest, APrefixOfOtherTokensIsFound) {
  SharingFixture f;
  StepFrame frame = SharingFixture::openingFrame(2);
  frame.opens[0].prefix[40] += 1;
  EXPECT_EQ(f.step(std::move(frame)).message(),
            "request 1, row 64 at position 64: position 40 of its cache is not "
            "its path's");
}

/// Rows that a request computes itself must be its own, whatever the tokens:
/// here it continues in the cache of its slot's last request, which had the
/// same tokens.
TEST(CacheContentsTest, WhatIsNotOnesOwnIsFoundWhereNoneIsShared) {
  SharingFixture f;
  StepFrame last;
  last.closes = {0};
  last.unpins = {0, 1};
  ASSERT_TRUE(f.step(std::move(last)).ok());
  // The same pages again, as if the first rows had not been stored.
  StepFrame frame = SharingFixture::openingFrame(0);
  frame.rows.resize(40);
  ASSERT_TRUE(f.stage.enqueue(std::move(frame)));
  ASSERT_TRUE(*f.stage.formStep());
  StepFrame outgoing;
  f.stage.finishStep(outgoing);
  StepFrame next = SharingFixture::openingFrame(0);
  next.opens.clear();
  next.rows.erase(next.rows.begin(), next.rows.begin() + 40);
  EXPECT_EQ(f.step(std::move(next)).message(),
            "request 1, row 40 at position 40: position 0 of its cache is not "
            "its path's");
}

/// Two stages under a random head that shares pages between requests: each row
/// finds its path.
TEST(CacheContentsTest, SharedPagesHoldTheirPathsWhateverHappens) {
  int64_t prefixes = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    PipelineSetup setup;
    setup.seed = seed;
    setup.limits.requests = 2 + random() % 3;
    setup.limits.nodes = 1 + random() % 8;
    setup.limits.branches = setup.limits.requests * (setup.limits.nodes + 1);
    setup.limits.contextLength = 70 + random() % 130;
    setup.limits.rows = 8 + random() % 90;
    setup.limits.frames = 1 + random() % 12;
    setup.limits.sharedPages = 1 + random() % 8;
    setup.limits.fuse = random() % 4 != 0;
    setup.actions = 150;
    RandomPipeline pipeline(setup);
    std::vector<CacheContents> contents;
    for (int64_t index = 0; index < setup.stages; ++index)
      contents.emplace_back(pipeline.stage(index).pages.limits().pages);
    for (int64_t index = 0; index < setup.stages; ++index) {
      StageHarness &at = pipeline.stage(index);
      at.onFormed = [&at, &its = contents[index]] {
        its.beginStep(at.stage, at.pages);
      };
      at.onComputed = [&at, &its = contents[index]] {
        Status status = its.endStep(at.stage, at.pages);
        ASSERT_TRUE(status.ok()) << status.message();
      };
    }
    pipeline.run();
    ASSERT_FALSE(HasFailure());
    prefixes += pipeline.prefixes;
  }
  EXPECT_GT(prefixes, 100);
}

} // namespace
