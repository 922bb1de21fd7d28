//===- StageSharingTest.cpp - requests that begin with shared pages -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/StageHarness.h"

using namespace sluice;
using namespace sluice::test;

namespace {

StageLimits sharingLimits() {
  StageLimits limits;
  limits.rows = 80;
  limits.requests = 3;
  limits.branches = 12;
  limits.nodes = 16;
  limits.contextLength = 128;
  limits.frames = 8;
  limits.sharedPages = 4;
  return limits;
}

StepFrame keeping(std::vector<PinPage> keeps) {
  StepFrame frame;
  frame.pins = std::move(keeps);
  return frame;
}
StepFrame dropping(std::vector<SharedPage> drops) {
  StepFrame frame;
  frame.unpins = std::move(drops);
  return frame;
}
Row guess(NodeId node, NodeId parent, int32_t position, RequestId request) {
  return makeRow(request, node, parent, position, false);
}

/// Returns the tokens that opening() sends.
std::vector<int32_t> tokensOf(RequestId request, NodeId first, int32_t count) {
  std::vector<int32_t> tokens;
  for (const Row &row : opening(count, request, first).rows)
    tokens.push_back(row.token);
  return tokens;
}

/// Opens the request with a prompt of `tokens` tokens, the first of which are
/// in the pages.
StepFrame openingWith(std::vector<SharedPage> pages,
                      std::vector<int32_t> prefix, int32_t tokens,
                      RequestId request, NodeId first) {
  StepFrame frame = opening(tokens, request, first);
  frame.rows.erase(frame.rows.begin(), frame.rows.begin() + std::ssize(prefix));
  frame.opens[0].prefixPages = std::move(pages);
  frame.opens[0].prefix = std::move(prefix);
  return frame;
}

class StageSharingTest : public ::testing::Test {
protected:
  StageSharingTest() : harness(sharingLimits(), 32) {}

  Nodes send(StepFrame frame) {
    harness.enqueue(std::move(frame));
    return nodesOf(harness.drain());
  }
  Stage &stage() { return harness.stage; }
  std::string refused(StepFrame frame) {
    int64_t queued = stage().queued();
    Expected<uint64_t> number = stage().enqueue(std::move(frame));
    EXPECT_FALSE(number);
    EXPECT_EQ(stage().queued(), queued);
    return number.status().message();
  }

  StageHarness harness;
};

TEST_F(StageSharingTest, ARequestBeginsWithPinnedPages) {
  send(opening(70));
  send(keeping({{0, 69, 0, 3}, {0, 69, 1, 1}}));
  int32_t first = harness.pages.pages(0)[0], second = harness.pages.pages(0)[1];
  EXPECT_EQ(stage().holdings(), (Stage::Holdings{1, 1, 3, 0, 2}));
  send(closing());
  EXPECT_EQ(stage().holdings(), (Stage::Holdings{.pinned = 2}));
  EXPECT_EQ(harness.pages.freePages(), 30);

  std::vector<int32_t> prefix = tokensOf(0, 0, 64);
  EXPECT_EQ(send(openingWith({3, 1}, prefix, 67, 1, 100)),
            (Nodes{164, 165, 166}));
  EXPECT_EQ(std::vector(harness.pages.pages(0).begin(),
                        harness.pages.pages(0).begin() + 2),
            (std::vector{first, second}));
  EXPECT_EQ(stage().holdings(), (Stage::Holdings{1, 1, 3, 0, 2}));
  // Guesses fork after the prefix as they do anywhere else.
  EXPECT_EQ(send(frameOf({guess(167, 166, 67, 1), guess(168, 166, 67, 1),
                          guess(169, 168, 68, 1)})),
            (Nodes{167, 168, 169}));
  // Meanwhile another request begins with one of the two pages.
  prefix.resize(32);
  EXPECT_EQ(send(openingWith({3}, prefix, 33, 2, 0)), (Nodes{32}));
  EXPECT_EQ(harness.pages.holders(first), 1 + 2 + 1);
  send(closing(1));
  send(closing(2));
  send(dropping({1, 3}));
  harness.expectEmpty();
}

/// The first row of such a request can leave its step; the shared prefix stays.
TEST_F(StageSharingTest, APrefixStaysWhenItsRowsLeave) {
  send(opening(32));
  send(keeping({{0, 31, 0, 0}}));
  harness.enqueue(openingWith({0}, tokensOf(0, 0, 32), 35, 1, 0));
  ASSERT_TRUE(*stage().formStep());
  harness.board.publish({1, 0, 34, true});
  stage().checkpoint();
  EXPECT_EQ(stage().batch().rows(), 0);
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_EQ(outgoing.opens.size(), 1u);
  EXPECT_EQ(outgoing.opens[0].prefix.size(), 32u);
  EXPECT_EQ(stage().holdings(), (Stage::Holdings{2, 2, 1, 0, 1}));
  send(closing(1));
  send(closing(0));
  send(dropping({0}));
  harness.expectEmpty();
}

/// By the board the request ended on a wrong guess; the page that is pinned is
/// of the path of the right one.
TEST_F(StageSharingTest, APageIsPinnedAfterTheEnd) {
  send(opening(31));
  send(frameOf({guess(31, 30, 31, 0), guess(32, 30, 31, 0)}));
  harness.board.publish({0, 1, 32, true});
  // Its rows are dead, and everything else is there.
  EXPECT_EQ(send(frameOf({guess(33, 31, 32, 0)})), (Nodes{}));
  EXPECT_EQ(stage().holdings().branches, 2);
  StepFrame frame = keeping({{0, 31, 0, 2}});
  frame.closes = {0};
  send(frame);
  EXPECT_EQ(stage().holdings(), (Stage::Holdings{.pinned = 1}));
  std::vector<int32_t> prefix = tokensOf(0, 0, 32);
  EXPECT_EQ(send(openingWith({2}, prefix, 33, 1, 0)), (Nodes{32}));
  send(closing(1));
  send(dropping({2}));
  harness.expectEmpty();
}

/// Any confirmed node will do, even one that is long forgotten.
TEST_F(StageSharingTest, APageIsPinnedOfAPathFromLongAgo) {
  StageLimits limits = sharingLimits();
  limits.rows = 4;
  limits.promptRows = 4;
  limits.nodes = 2;
  limits.contextLength = 512;
  StageHarness harness(limits, 32);
  harness.enqueue(opening(33));
  harness.drain();
  for (int32_t node = 33; node < 300; ++node) {
    StepFrame frame = frameOf({guess(node, node - 1, node, 0)});
    frame.marks.push_back({0, 0, node - 1, false});
    harness.enqueue(std::move(frame));
    harness.drain();
  }
  harness.enqueue(keeping({{0, 32, 0, 0}, {0, 130, 3, 1}}));
  harness.drain();
  EXPECT_EQ(harness.stage.holdings().pinned, 2);
}

TEST_F(StageSharingTest, APageIsUnpinnedWhileARequestUsesIt) {
  send(opening(33));
  StepFrame frame = keeping({{0, 32, 0, 0}});
  frame.closes = {0};
  send(frame);
  send(openingWith({0}, tokensOf(0, 0, 32), 34, 1, 0));
  send(dropping({0}));
  EXPECT_EQ(stage().holdings(), (Stage::Holdings{1, 1, 2, 0, 0}));
  EXPECT_EQ(send(frameOf({guess(34, 33, 34, 1)})), (Nodes{34}));
  send(closing(1));
  harness.expectEmpty();
}

/// A repeated row does not leave its step: the head may have its first answer,
/// and may pin pages of what follows it.
TEST_F(StageSharingTest, ARowThatComesAgainStaysInItsStep) {
  send(opening(30));
  send(frameOf(
      {guess(30, 29, 30, 0), guess(31, 30, 31, 0), guess(32, 31, 32, 0)}));
  harness.enqueue(frameOf({makeRow(0, 31, 30, 31, true)}));
  harness.enqueue(frameOf({guess(33, 31, 32, 0)}));
  harness.enqueue(keeping({{0, 31, 0, 0}}));
  ASSERT_TRUE(*stage().formStep());
  EXPECT_EQ(nodesOf(stage().rows()), (Nodes{31, 33}));
  harness.board.publish({0, 0, 33, true});
  stage().checkpoint();
  EXPECT_EQ(nodesOf(stage().rows()), (Nodes{31}));
  StepFrame outgoing;
  stage().finishStep(outgoing);
  EXPECT_EQ(outgoing.pins.size(), 1u);
}

/// The orders of a split frame that precede its rows go with its first step,
/// the others with its last; only then is the frame taken completely.
TEST_F(StageSharingTest, AFrameIsTakenInWholeWithItsLastStep) {
  StageLimits limits = sharingLimits();
  limits.rows = 20;
  StageHarness harness(limits, 32);
  StepFrame frame = opening(33);
  frame.launched = 7;
  harness.enqueue(std::move(frame));
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(out.launched, 0u);
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(out.launched, 7u);
  frame = opening(30, 1);
  frame.launched = 9;
  frame.pins = {{0, 32, 0, 1}};
  frame.closes = {0};
  harness.enqueue(std::move(frame));
  StepFrame late = dropping({1});
  late.launched = 8; // it never falls
  harness.enqueue(std::move(late));
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(out.launched, 7u);
  EXPECT_TRUE(out.pins.empty());
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(out.launched, 9u);
  EXPECT_EQ(out.pins.size(), 1u);
  EXPECT_EQ(out.closes.size(), 1u);
  EXPECT_TRUE(out.unpins.empty());
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(out.launched, 9u);
  EXPECT_EQ(out.unpins, (std::vector<SharedPage>{1}));
}

/// Sends frames that pin, unpin and open with the same pages to a first stage
/// that fuses them or not.
class Orders {
public:
  explicit Orders(bool fuse) : one(limits(fuse), 32), two(limits(true), 32) {
    pass(opening(66));
    one.enqueue(keeping({{0, 65, 0, 0}, {0, 65, 1, 1}}));
    one.enqueue(openingWith({0, 1}, tokensOf(0, 0, 64), 66, 1, 200));
    StepFrame frame = frameOf({guess(266, 265, 66, 1)});
    frame.unpins = {1};
    one.enqueue(frame);
    frame = keeping({{0, 65, 1, 1}, {0, 65, 0, 2}});
    frame.closes = {0};
    one.enqueue(frame);
    one.enqueue(dropping({0}));
    one.enqueue(openingWith({2, 1}, tokensOf(0, 0, 64), 65, 0, 300));
    StepFrame out;
    while (one.step(out))
      sent.push_back(out);
    for (const StepFrame &each : sent) {
      two.enqueue(each);
      two.drain();
    }
    pass(frameOf({guess(267, 266, 67, 1), guess(365, 364, 65, 0)}));
    EXPECT_EQ(one.stage.holdings(), (Stage::Holdings{2, 2, 4, 0, 2}));
    EXPECT_EQ(two.stage.holdings(), one.stage.holdings());
    frame = dropping({2, 1});
    frame.closes = {0, 1};
    pass(frame);
    one.expectEmpty();
    two.expectEmpty();
  }

  std::vector<StepFrame> sent;

private:
  static StageLimits limits(bool fuse) {
    StageLimits limits = sharingLimits();
    limits.fuse = fuse;
    return limits;
  }
  void pass(StepFrame frame) {
    one.enqueue(std::move(frame));
    StepFrame out;
    ASSERT_TRUE(one.step(out));
    two.enqueue(out);
    two.drain();
  }

  StageHarness one, two;
};

TEST_F(StageSharingTest, FusedFramesSayWhatTheirFramesSaid) {
  Orders apart(false);
  EXPECT_EQ(apart.sent.size(), 6u);
  Orders fused(true);
  // The first open waits for the pins, the first unpin for the open with its
  // page, the last open for the close and the pins.
  ASSERT_EQ(fused.sent.size(), 4u);
  EXPECT_EQ(fused.sent[0].pins.size(), 2u);
  EXPECT_EQ(fused.sent[1].opens.size(), 1u);
  EXPECT_EQ(fused.sent[2].unpins, (std::vector<SharedPage>{1, 0}));
  EXPECT_EQ(nodesOf(fused.sent[2].rows), (Nodes{266}));
  EXPECT_EQ(fused.sent[2].pins.size(), 2u);
  EXPECT_EQ(fused.sent[2].closes.size(), 1u);
  EXPECT_EQ(fused.sent[3].opens[0].prefixPages,
            (std::vector<SharedPage>{2, 1}));
}

/// A sequence that a close gives back can hold a prefix in the next step.
TEST_F(StageSharingTest, APrefixWaitsForWhatCloses) {
  StageLimits limits = sharingLimits();
  limits.branches = 1;
  StageHarness harness(limits, 8);
  harness.enqueue(opening(33));
  harness.drain();
  StepFrame frame = keeping({{0, 32, 0, 0}});
  harness.enqueue(frame);
  harness.drain();
  harness.enqueue(closing());
  harness.enqueue(openingWith({0}, tokensOf(0, 0, 32), 33, 1, 0));
  StepFrame out;
  ASSERT_TRUE(harness.step(out));
  EXPECT_TRUE(out.opens.empty());
  ASSERT_TRUE(harness.step(out));
  EXPECT_EQ(nodesOf(out.rows), (Nodes{32}));
  harness.enqueue(openingWith({0}, tokensOf(0, 0, 32), 33, 2, 0));
  EXPECT_EQ(harness.stage.formStep().status().message(),
            "stage: request 2: cache: more than 1 open sequences");
}

TEST_F(StageSharingTest, APageOfAPromptIsPinnedHoweverManyRowsCameSince) {
  StageLimits limits = sharingLimits();
  limits.rows = limits.promptRows = 8;
  limits.nodes = 1;
  StageHarness harness(limits, 32);
  harness.enqueue(opening(120));
  harness.drain();
  harness.enqueue(keeping({{0, 31, 0, 0}, {0, 63, 1, 1}}));
  ASSERT_TRUE(harness.stage.formStep());
  EXPECT_EQ(harness.stage.holdings().pinned, 2);
}

TEST_F(StageSharingTest, WhatIsNotInTheCacheCannotBePinned) {
  auto message = [](StepFrame before, StepFrame frame) {
    StageHarness harness(sharingLimits(), 32);
    harness.enqueue(std::move(before));
    harness.drain();
    harness.enqueue(std::move(frame));
    return harness.stage.formStep().status().message();
  };
  // The page is not full up to the row.
  EXPECT_EQ(
      message(opening(33), keeping({{0, 32, 1, 0}})),
      "stage: request 0: page 1 of the path to row 32 is to be pinned, but "
      "is not in the cache");
  // No row of this very step can have been answered.
  StepFrame frame = opening(32, 1);
  frame.pins = {{1, 31, 0, 0}};
  EXPECT_EQ(
      message(opening(1), frame),
      "stage: request 1: page 0 of the path to row 31 is to be pinned, but "
      "is not in the cache");
  // No row had this number.
  frame = frameOf({makeRow(0, 40, 32, 33, true)});
  frame.pins = {{0, 35, 0, 0}};
  EXPECT_EQ(
      message(opening(33), frame),
      "stage: request 0: page 0 of the path to row 35 is to be pinned, but "
      "is not in the cache");
}

TEST_F(StageSharingTest, TheMailboxChecksSharedPages) {
  EXPECT_EQ(refused(dropping({4})), "stage: no shared page 4, of 4");
  EXPECT_EQ(refused(dropping({-1})), "stage: no shared page -1, of 4");
  EXPECT_EQ(refused(dropping({0})),
            "stage: shared page 0 is unpinned but not pinned");
  EXPECT_EQ(refused(keeping({{0, 0, 0, 0}})),
            "stage: shared page 0 is pinned of request 0, which is not open");
  send(opening(70, 0, 5));
  EXPECT_EQ(refused(keeping({{3, 74, 0, 0}})),
            "stage: no slot for request 3, of 3");
  EXPECT_EQ(refused(keeping({{0, 74, 0, 4}})), "stage: no shared page 4, of 4");
  EXPECT_EQ(refused(keeping({{0, 75, 0, 0}})),
            "stage: request 0 has nodes from 5 to 74, but page 0 is pinned of "
            "node 75");
  EXPECT_EQ(refused(keeping({{0, 4, 0, 0}})),
            "stage: request 0 has nodes from 5 to 74, but page 0 is pinned of "
            "node 4");
  EXPECT_EQ(refused(keeping({{0, 74, 4, 0}})),
            "stage: request 0: page 4 is pinned in a context of 128");
  EXPECT_EQ(refused(keeping({{0, 74, -1, 0}})),
            "stage: request 0: page -1 is pinned in a context of 128");
  EXPECT_EQ(refused(keeping({{0, 74, 0, 0}, {0, 74, 1, 0}})),
            "stage: shared page 0 is pinned already");
  // A frame is checked as if the queue had been worked off; a refused frame
  // leaves no trace.
  harness.enqueue(keeping({{0, 74, 0, 0}, {0, 74, 1, 1}}));
  EXPECT_EQ(refused(keeping({{0, 74, 0, 0}})),
            "stage: shared page 0 is pinned already");
  EXPECT_EQ(refused(dropping({0, 0})),
            "stage: shared page 0 is unpinned but not pinned");
  StepFrame again = dropping({0});
  again.pins = {{0, 74, 0, 0}};
  harness.enqueue(again);
  StepFrame close = closing();
  close.pins = {{0, 74, 1, 2}};
  harness.enqueue(close);
  EXPECT_EQ(refused(keeping({{0, 74, 1, 3}})),
            "stage: shared page 3 is pinned of request 0, which is not open");
  harness.drain();
  send(dropping({0, 1, 2}));
  harness.expectEmpty();
}

TEST_F(StageSharingTest, TheMailboxChecksPrefixes) {
  send(opening(70));
  send(keeping({{0, 69, 0, 0}, {0, 69, 1, 1}}));
  std::vector<int32_t> prefix = tokensOf(0, 0, 64);
  std::vector<int32_t> half(prefix.begin(), prefix.begin() + 32);
  auto with = [&](auto change) {
    StepFrame frame = openingWith({0, 1}, prefix, 67, 1, 10);
    change(frame, frame.opens[0]);
    return refused(frame);
  };
  EXPECT_EQ(
      with([&](auto &, auto &open) { open.prefix = half; }),
      "stage: request 1: a prefix of 32 tokens in 2 pages, with 67 known");
  EXPECT_EQ(with([](auto &, auto &open) { open.scored = {1, 2}; }),
            "stage: request 1: 2 tokens to score in a prompt of 67");
  EXPECT_EQ(
      with([](auto &, auto &open) { open.prefix.pop_back(); }),
      "stage: request 1: a prefix of 63 tokens in 2 pages, with 67 known");
  EXPECT_EQ(
      with([](auto &, auto &open) {
        open.promptTokens = open.knownTokens = 64;
      }),
      "stage: request 1: a prefix of 64 tokens in 2 pages, with 64 known");
  EXPECT_EQ(
      with([](auto &, auto &open) { open.knownTokens = 66; }),
      "stage: request 1: 66 known tokens with a prompt of 67 in a context "
      "of 128");
  EXPECT_EQ(with([](auto &, auto &open) { open.knownTokens = 129; }),
            "stage: request 1: 129 known tokens with a prompt of 67 in a "
            "context of 128");
  EXPECT_EQ(with([](auto &, auto &open) { open.prefixPages[1] = 4; }),
            "stage: no shared page 4, of 4");
  EXPECT_EQ(with([](auto &, auto &open) { open.prefixPages[1] = 2; }),
            "stage: request 1: page 1 of its prefix is shared page 2, which is "
            "not pinned");
  EXPECT_EQ(with([](auto &, auto &open) { open.prefixPages[1] = 0; }),
            "stage: request 1: page 1 of its prefix is shared page 0, which is "
            "page 0 of its path");
  EXPECT_EQ(with([](auto &frame, auto &) { frame.unpins = {1}; }),
            "stage: request 1: page 1 of its prefix is shared page 1, which is "
            "not pinned");
  EXPECT_EQ(with([](auto &, auto &open) { open.prefix[3] = -1; }),
            "stage: request 1: token -1 is negative");
  EXPECT_EQ(with([](auto &frame, auto &) { frame.rows[0].parent = noNode; }),
            "stage: request 1 has nodes from 74, but a row 74 behind -1");
  EXPECT_EQ(with([](auto &frame, auto &) { frame.rows[0].node = 73; }),
            "stage: request 1 has nodes from 74, but a row 73 behind 73");
  EXPECT_EQ(with([](auto &frame, auto &) { frame.rows[0].position = 65; }),
            "stage: request 1: row 74 at position 65 has no parent");
  EXPECT_EQ(with([](auto &frame, auto &) { frame.rows[1].position = 64; }),
            "stage: request 1: row 75 at position 64 has one");
  EXPECT_EQ(
      with([](auto &frame, auto &) { frame.rows[0].position = 63; }),
      "stage: request 1: position 63 is not in the context of 128, behind "
      "a prefix of 64");
  // The same frame is accepted otherwise, and node numbers continue after the
  // prefix.
  send(openingWith({0, 1}, prefix, 67, 1, 10));
  send(closing(1));
  EXPECT_EQ(refused(opening(1, 1, 76)),
            "stage: request 1 starts at node 76, but nodes go on at 77");
}

TEST_F(StageSharingTest, LimitsAreChecked) {
  CachePages pages = CachePages::create({8, 4, 64}).take();
  EpochBoard board(3);
  StageLimits limits = sharingLimits();
  limits.branches = 4;
  limits.contextLength = 64;
  limits.sharedPages = 9;
  EXPECT_EQ(Stage::create(limits, pages, board).status().message(),
            "stage: shared pages: 9 is not between 0 and 8");
  limits.sharedPages = -1;
  EXPECT_EQ(Stage::create(limits, pages, board).status().message(),
            "stage: shared pages: -1 is not between 0 and 8");
}

} // namespace
