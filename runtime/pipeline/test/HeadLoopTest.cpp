//===- HeadLoopTest.cpp - the head's thread, by hand ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/HeadLoop.h"

#include <gtest/gtest.h>
#include <thread>

using namespace sluice;
using namespace sluice::pipeline;

namespace {

/// Keeps what is told, and goes nowhere.
class Links final : public HeadLinks {
public:
  Status launch(const StepFrame &frame) override {
    for (const Row &row : frame.rows)
      launched.push_back(row.node);
    return {};
  }
  Status draft(StepFrame) override { return {}; }
  Status cancel(const EpochMark &, Time) override { return {}; }
  void told(const TokenEvent &token, Time) override {
    tokens.push_back(token.token);
  }
  void told(const FinishEvent &finish, Time) override {
    reasons.push_back(finish.reason);
  }
  void note(const PolicyNote &, Time) override {}

  std::vector<NodeId> launched;
  std::vector<int32_t> tokens;
  std::vector<FinishReason> reasons;
};

ResultFrame result(NodeId node, int32_t token) {
  ResultFrame frame;
  frame.results.push_back({node, 0, token, {}});
  return frame;
}

/// The draft's answer to its first frame, the prompt's row 0: two candidates.
GuessFrame guesses() {
  GuessFrame frame;
  frame.timing.rows = 1;
  frame.guesses.push_back({0, 0, {{20, 0.9f}, {30, 0.9f}}});
  return frame;
}

/// Guesses that were still in flight when the request ended are counted when
/// they come back; and the trace is told of each token and end.
TEST(HeadLoopTest, CountsWhatComesBackAfterTheEnd) {
  Links links;
  HeadLimits limits;
  limits.contextLength = 100;
  limits.hasDraft = true;
  std::array<Time, StepTimes::rowCounts.size()> steps;
  steps.fill(std::chrono::microseconds(10));
  Expected<Head> head =
      Head::create(limits, {},
                   {StepTimes(steps), std::chrono::milliseconds(10), Time(0),
                    StepTimes(steps)});
  ASSERT_TRUE(head) << head.status().message();
  HeadLoop loop(head.take(), links);
  std::thread thread([&] { loop.run(); });
  TokenQueue queue;
  RequestSpec spec;
  spec.prompt = {5};
  loop.submit(spec, queue);
  loop.onGuesses(guesses());
  // Rows wait for their slots.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  loop.onResults(result(0, 20)); // node 1 came true
  loop.finish(queue, FinishReason::Stop);
  auto next = [&] { return queue.next(now() + std::chrono::seconds(60)); };
  EXPECT_EQ(next()->token.token, 20);
  EXPECT_EQ(next()->kind, TokenItem::Kind::Finished);
  loop.onResults(result(1, 21)); // confirmed
  loop.onResults(result(2, 31)); // dead
  loop.close();
  thread.join();
  ASSERT_EQ(links.launched, (std::vector<NodeId>{0, 1, 2}));
  EXPECT_EQ(links.tokens, std::vector<int32_t>{20});
  EXPECT_EQ(links.reasons, std::vector{FinishReason::Stop});
  EXPECT_EQ(loop.counters().launched, 2);
  EXPECT_EQ(loop.counters().accepted, 1);
  EXPECT_EQ(loop.counters().cancelled, 1);
  EXPECT_EQ(loop.counters().computedDead, 1);
}

} // namespace
