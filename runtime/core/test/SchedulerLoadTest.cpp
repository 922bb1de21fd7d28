//===- SchedulerLoadTest.cpp - a scheduler under random loads -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/SchedulerScript.h"

#include <random>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

class RandomLoad {
public:
  explicit RandomLoad(uint64_t seed) : random(seed) {
    s.limits.requests = upTo(1, 6);
    s.limits.stages = upTo(1, 3);
    s.limits.contextLength = 400;
    s.limits.prefillRows = upTo(1, 64);
    s.limits.pages = upTo(0, 3) == 0 ? 0 : upTo(13, 40);
    s.limits.sharesPrefixes = upTo(0, 1) == 0;
    s.limits.interTokenLatency = upTo(0, 1) == 0 ? Time(0) : ms(upTo(1, 100));
    s.queue.waiting = upTo(0, 10);
    s.queue.queueTimeout = upTo(0, 1) == 0 ? Time(0) : ms(upTo(1, 2000));
    s.queue.priorityStep = ms(upTo(0, 500));
    s.times = {ms(5), std::chrono::microseconds(upTo(0, 300))};
    s.begin();
  }

  void run() {
    for (int i = 0; i < 40 && !testing::Test::HasFatalFailure(); ++i) {
      s.run(s.now + ms(upTo(0, 1) == 0 ? 0 : upTo(0, 300)));
      if (upTo(0, 4) > 0 || s.reported.empty()) {
        submit();
      } else {
        auto at = s.reported.begin();
        std::advance(at, upTo(0, std::ssize(s.reported) - 1));
        s.finish(at->first);
        cancelled.insert(at->first);
      }
    }
    s.runAll();
    s.check();
    for (const auto &[number, each] : s.reported)
      checkEnd(number, each);
  }

  SchedulerScript s;
  int64_t timeouts = 0, refused = 0, evicted = 0;

private:
  int64_t upTo(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  void submit() {
    Text text = prompt(static_cast<int32_t>(upTo(0, 2)), upTo(1, 150));
    if (upTo(0, 1) == 0)
      text.back() = static_cast<int32_t>(upTo(10, 900));
    int64_t tokens = upTo(1, 200);
    std::optional<Time> deadline;
    if (upTo(0, 4) == 0)
      deadline = s.now + ms(upTo(0, 3000));
    RequestNumber number =
        s.submit(text, tokens, static_cast<int32_t>(upTo(-2, 2)), deadline);
    if (number < 0) {
      EXPECT_EQ(s.last.refusal, Refusal::QueueFull) << s.last.why;
      ++refused;
      return;
    }
    wanted[number] = tokens;
    if (deadline)
      deadlines[number] = *deadline;
  }
  void checkEnd(RequestNumber number, const SchedulerScript::Reported &each) {
    if (each.end.refusal != Refusal::None) {
      EXPECT_FALSE(each.end.started);
      EXPECT_TRUE(each.tokens.empty());
      ++evicted;
      return;
    }
    switch (each.end.reason) {
    case FinishReason::Length:
      EXPECT_EQ(std::ssize(each.tokens), wanted[number]);
      return;
    case FinishReason::Cancelled:
      EXPECT_TRUE(cancelled.contains(number));
      return;
    case FinishReason::Timeout:
      ++timeouts;
      if (!each.end.started && s.queue.queueTimeout > Time(0))
        return;
      ASSERT_TRUE(deadlines.contains(number));
      EXPECT_GE(each.ended, deadlines[number]);
      return;
    default:
      ADD_FAILURE() << number << " ended as "
                    << finishReasonName(each.end.reason);
    }
  }

  std::mt19937_64 random;
  std::map<RequestNumber, int64_t> wanted;
  std::map<RequestNumber, Time> deadlines;
  std::set<RequestNumber> cancelled;
};

TEST(SchedulerLoadTest, EveryRequestEndsOnceWithItsTokensWhateverTheLoad) {
  int64_t preemptions = 0, timeouts = 0, refused = 0, evicted = 0, hits = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomLoad load(seed);
    load.run();
    ASSERT_FALSE(testing::Test::HasFailure());
    preemptions += load.s.scheduler->preemptions();
    timeouts += load.timeouts;
    refused += load.refused;
    evicted += load.evicted;
    hits += load.s.scheduler->rows().ledger().foundTokens();
  }
  EXPECT_GT(preemptions, 300);
  EXPECT_GT(timeouts, 100);
  EXPECT_GT(refused, 100);
  EXPECT_GT(evicted, 100);
  EXPECT_GT(hits, 10000);
}

} // namespace
