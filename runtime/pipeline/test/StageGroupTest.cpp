//===- StageGroupTest.cpp - equal steps at all members of a group ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/StageGroup.h"

#include "runtime/base/test/Allocations.h"
#include "runtime/comm/inproc/InprocCommunicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::pipeline;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Two members. The first member's messages wait for the second, so one thread
/// can be both, one after the other.
class StageGroupTest : public testing::Test {
protected:
  struct Member {
    explicit Member(comm::Communicator &communicator)
        : ranks(communicator, {0, 1}), collectives(ranks),
          group(collectives, rankBoard, communicator.buffers()) {}
    EpochBoard rankBoard{4};
    comm::RankGroup ranks;
    comm::Collectives collectives;
    StageGroup group;
  };

  Status tell(std::vector<comm::Bytes> frames) {
    std::vector<std::span<const uint8_t>> views(frames.begin(), frames.end());
    return first.group.tellStep(views);
  }

  void expectEqualBoards() {
    for (RequestId request = 0; request < 4; ++request)
      EXPECT_EQ(first.group.board().get(request),
                second.group.board().get(request));
  }

  static constexpr int64_t longestMessage = 60000;
  static comm::CommunicatorOptions options() {
    comm::CommunicatorOptions options;
    options.messageBytes = longestMessage;
    return options;
  }
  std::vector<std::unique_ptr<comm::Communicator>> job =
      comm::makeInprocJob(2, options());
  Member first{*job[0]}, second{*job[1]};
  std::vector<comm::Bytes> heard;
  NodeId confirmed = 0;
};

TEST_F(StageGroupTest, AllHearTheFramesAndMarksOfTheFirst) {
  first.rankBoard.publish({1, 0, 7, false});
  // What the second member's rank knows first does not reach its stage.
  second.rankBoard.publish({2, 0, 9, true});
  comm::Bytes big(5000, 3);
  ASSERT_TRUE(tell({{1, 2, 3}, {}, big}).ok());
  Expected<bool> more = second.group.hearStep(heard);
  ASSERT_TRUE(more && *more) << more.status().message();
  EXPECT_THAT(heard, ElementsAre(comm::Bytes{1, 2, 3}, comm::Bytes{}, big));
  // Frames go to the mailbox first, and only then marks to the board.
  EXPECT_EQ(second.group.board().get(1).confirmed, noNode);
  second.group.takeMarks();
  EXPECT_EQ(second.group.board().get(1).confirmed, 7);
  EXPECT_EQ(second.group.board().get(2).confirmed, noNode);
  expectEqualBoards();
}

TEST_F(StageGroupTest, CheckpointsBringWhatIsNew) {
  ASSERT_TRUE(tell({}).ok());
  ASSERT_TRUE(*second.group.hearStep(heard));
  second.group.takeMarks();
  ASSERT_TRUE(first.group.checkpoint().ok());
  ASSERT_TRUE(second.group.checkpoint().ok());
  EXPECT_EQ(second.group.board().changes(), 0u);
  // A mark that comes between two checkpoints is seen by all members at the
  // second.
  first.rankBoard.publish({3, 0, 5, true});
  EXPECT_FALSE(first.group.board().get(3).ended);
  ASSERT_TRUE(first.group.checkpoint().ok());
  EXPECT_TRUE(first.group.board().get(3).ended);
  EXPECT_FALSE(second.group.board().get(3).ended);
  ASSERT_TRUE(second.group.checkpoint().ok());
  EXPECT_TRUE(second.group.board().get(3).ended);
  expectEqualBoards();
}

/// While a device computes, marks are on the first member's board at once. The
/// others get them after the step, look by look.
TEST_F(StageGroupTest, LooksAreRepeatedBehindTheStep) {
  first.group.look();
  first.rankBoard.publish({1, 0, 7, false}, Time(1000));
  first.rankBoard.publish({2, 0, 3, false});
  first.group.look();
  EXPECT_EQ(first.group.board().get(1).confirmed, 7);
  first.group.look(); // nothing new
  first.rankBoard.publish({1, 0, 9, false});
  first.group.look();
  ASSERT_TRUE(first.group.agree([] { FAIL() << "it has looked"; }).ok());
  std::vector<NodeId> seen;
  ASSERT_TRUE(second.group
                  .agree([&] {
                    seen.push_back(second.group.board().get(1).confirmed);
                    EXPECT_EQ(second.group.board().get(2).confirmed, 3);
                  })
                  .ok());
  EXPECT_THAT(seen, ElementsAre(7, 9));
  expectEqualBoards();
  // Marks are reported once.
  ASSERT_TRUE(first.group.agree([] {}).ok());
  ASSERT_TRUE(second.group.agree([] { FAIL() << "nothing is new"; }).ok());
}

/// If there are more marks in a step than there is room for, the first member
/// takes none.
TEST_F(StageGroupTest, LooksAreBounded) {
  for (NodeId node = 1; node <= 100; ++node) {
    first.rankBoard.publish({0, 0, node, false});
    first.group.look();
  }
  const NodeId last = first.group.board().get(0).confirmed;
  EXPECT_LT(last, 100);
  ASSERT_TRUE(first.group.agree([] {}).ok());
  ASSERT_TRUE(second.group.agree([] {}).ok());
  expectEqualBoards();
  ASSERT_TRUE(tell({}).ok());
  ASSERT_TRUE(*second.group.hearStep(heard));
  second.group.takeMarks();
  EXPECT_EQ(second.group.board().get(0).confirmed, 100);
}

TEST_F(StageGroupTest, TheFirstKnowsWhenACancelWasDecided) {
  first.rankBoard.publish({1, 0, 7, false}, Time(1000));
  ASSERT_TRUE(first.group.checkpoint().ok());
  EXPECT_EQ(first.group.board().decidedWhen(
                1, [](EpochBoard::State) { return true; }),
            Time(1000));
}

TEST_F(StageGroupTest, TheEndIsHeard) {
  ASSERT_TRUE(first.group.tellEnd().ok());
  Expected<bool> more = second.group.hearStep(heard);
  ASSERT_TRUE(bool(more));
  EXPECT_FALSE(*more);
}

TEST_F(StageGroupTest, MembersThatLoseStepAreFoundOut) {
  ASSERT_TRUE(tell({}).ok());
  EXPECT_THAT(second.group.checkpoint().message(),
              HasSubstr("has ended the step"));
}

TEST_F(StageGroupTest, MembersThatLoseStepMeetNoMore) {
  ASSERT_TRUE(first.group.checkpoint().ok());
  EXPECT_THAT(second.group.hearStep(heard).status().message(),
              HasSubstr("is at a checkpoint"));
  ASSERT_TRUE(tell({}).ok());
  EXPECT_THAT(second.group.hearStep(heard).status().message(),
              HasSubstr("is at a checkpoint"));
  std::vector<float> part(2), sum(2), scratch(4);
  EXPECT_THAT(second.collectives.allReduce(part, sum, scratch).message(),
              HasSubstr("is at a checkpoint"));
}

TEST_F(StageGroupTest, AMessageThatCannotBeRightIsRefused) {
  comm::Bytes message(1 + 3 * sizeof(uint64_t)); // a step without frames
  message.insert(message.end(), {200, 0, 0, 0});
  ASSERT_TRUE(first.collectives.fromFirst(message).ok());
  EXPECT_THAT(second.group.hearStep(heard).status().message(),
              HasSubstr("the first of the group: 200 frames take"));
}

/// Together the frames are larger than a message may be.
TEST_F(StageGroupTest, ManyLargeFramesAreNoProblem) {
  std::vector<comm::Bytes> frames(5, comm::Bytes(longestMessage, 1));
  std::vector<std::span<const uint8_t>> views(frames.begin(), frames.end());
  ASSERT_TRUE(first.group.tellStep(views).ok());
  Expected<bool> more = second.group.hearStep(heard);
  ASSERT_TRUE(more && *more) << more.status().message();
  ASSERT_EQ(heard.size(), frames.size());
  for (const comm::Bytes &bytes : heard)
    EXPECT_EQ(bytes, frames.front());
}

/// Buffers that carry frames are reused, and their number does not grow.
TEST_F(StageGroupTest, StepsAllocateNothing) {
  comm::Bytes small(100, 3), big(50000, 4);
  std::vector<std::span<const uint8_t>> frames = {small, big, small};
  bool ok = true;
  auto step = [&] {
    first.rankBoard.publish({1, 0, ++confirmed, false});
    ok &= first.group.tellStep(frames).ok();
    ok &= *second.group.hearStep(heard);
    ok &= heard.size() == 3 && heard[1] == big;
    second.group.takeMarks();
    ok &= first.group.checkpoint().ok() && second.group.checkpoint().ok();
    first.rankBoard.publish({1, 0, ++confirmed, false});
    first.group.look();
    ok &= first.group.agree([] {}).ok() && second.group.agree([] {}).ok();
    for (comm::Bytes &bytes : heard)
      job[1]->buffers().give(std::move(bytes));
  };
  for (int i = 0; i < 50; ++i)
    step();
  int64_t before = sluice::test::allocations();
  for (int i = 0; i < 50; ++i)
    step();
  EXPECT_EQ(sluice::test::allocations(), before);
  EXPECT_TRUE(ok);
}

TEST_F(StageGroupTest, ALostFirstMemberIsNoticed) {
  job[0].reset();
  EXPECT_THAT(second.group.hearStep(heard).status().message(),
              HasSubstr("rank 0: has left before the end"));
}

} // namespace
