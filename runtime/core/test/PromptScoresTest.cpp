//===- PromptScoresTest.cpp - log-probabilities of prompts ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CachePages.h"
#include "runtime/core/test/SchedulerScript.h"

#include <algorithm>
#include <random>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int64_t pageTokens = CachePages::pageTokens;

/// Returns a prompt of distinct tokens, so that none can be taken for another.
Text countingPrompt(int32_t first, int64_t tokens) {
  Text text(static_cast<size_t>(tokens));
  for (size_t i = 0; i < text.size(); ++i)
    text[i] = first + static_cast<int32_t>(i);
  return text;
}

struct Scores : SchedulerScript {
  RequestNumber score(const Text &prompt, int64_t maxTokens,
                      int32_t priority = 0) {
    return submit(prompt, maxTokens, priority, {}, /*scoresPrompt=*/true);
  }
  /// Runs a prompt that is scored beside another one, in steps of 100 rows of
  /// which 20 have outputs, to the end.
  void scoreBeside(int64_t scoredTokens, int64_t otherTokens) {
    limits.prefillRows = 100;
    limits.outputs = 20;
    score(countingPrompt(1, scoredTokens), 1);
    submit(countingPrompt(500, otherTokens), 1);
    runAll();
    check();
  }
  /// Returns how many rows of a frame want an output.
  static int64_t outputsOf(const TextStages::Arrived &arrived) {
    return std::ranges::count(arrived.frame.rows, true, &Row::wantsOutput);
  }
  /// Checks that each token of the prompt but the first was reported.
  void expectScored(RequestNumber number) const {
    const Reported &request = reported.at(number);
    EXPECT_EQ(request.scored,
              Text(request.prompt.begin() + 1, request.prompt.end()))
        << number;
  }
};

TEST(PromptScoresTest, EachTokenButTheFirstIsReportedBeforeTheAnswer) {
  for (int64_t stages : {1, 3}) {
    Scores s;
    s.limits.stages = stages;
    s.limits.prefillRows = 16;
    RequestNumber number = s.score(countingPrompt(1, 50), 5);
    RequestNumber other = s.submit(countingPrompt(500, 50), 5);
    s.runAll();
    s.check();
    s.expectScored(number);
    EXPECT_EQ(s.reported[number].tokens.size(), 5u);
    EXPECT_TRUE(s.reported[other].scored.empty());
  }
}

TEST(PromptScoresTest, WithoutAnAnswerItEndsWithTheLastOfThem) {
  Scores s;
  RequestNumber number = s.score(countingPrompt(1, 50), 0);
  EXPECT_EQ(s.reported[number].ends, 0);
  RequestNumber one = s.score({7}, 0); // nothing to report
  EXPECT_EQ(s.reported[one].ends, 1);
  s.runAll();
  s.check();
  s.expectScored(number);
  EXPECT_TRUE(s.reported[number].tokens.empty());
  EXPECT_EQ(s.reported[number].end.reason, FinishReason::Length);
}

TEST(PromptScoresTest, AChunkWantsNoMoreOutputsThanAStepHas) {
  Scores s;
  s.scoreBeside(90, 90);
  int64_t max = 0;
  for (const TextStages::Arrived &each : s.stages->arrived())
    max = std::max(max, Scores::outputsOf(each));
  EXPECT_EQ(max, 20);
}

TEST(PromptScoresTest, OthersTakeTheRowsThatItsOutputsDoNotReachFor) {
  Scores s;
  s.scoreBeside(200, 300);
  auto isShared = [](const TextStages::Arrived &each) {
    return each.frame.rows.size() == 100 && Scores::outputsOf(each) == 20;
  };
  EXPECT_TRUE(std::ranges::any_of(s.stages->arrived(), isShared));
}

TEST(PromptScoresTest, RowsThatAreReportedAreNotTakenFromTheCache) {
  Scores s;
  s.limits.sharesPrefixes = true;
  Text text = countingPrompt(1, 4 * pageTokens);
  s.submit(text, 1);
  s.runAll();
  RequestNumber scored = s.score(text, 1);
  RequestNumber alike = s.score(text, 1); // which waits for no other request
  s.runAll();
  RequestNumber plain = s.submit(text, 1);
  s.runAll();
  s.check();
  s.expectScored(scored);
  s.expectScored(alike);
  EXPECT_EQ(s.reported[scored].end.cachedTokens, 0);
  EXPECT_EQ(s.reported[plain].end.cachedTokens, 3 * pageTokens);
}

/// What was reported is not reported again, and its pages may then be shared.
TEST(PromptScoresTest, APreemptedRequestGoesOnBehindWhatWasReported) {
  Scores s;
  s.limits.requests = 1;
  s.limits.prefillRows = 40;
  s.limits.sharesPrefixes = true;
  s.queue.priorityStep = ms(1000);
  RequestNumber number = s.score(countingPrompt(1, 200), 3);
  s.run(ms(35));
  size_t before = s.reported[number].scored.size();
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 199u);
  s.submit(countingPrompt(500, 10), 2, -1);
  EXPECT_EQ(s.scheduler->load().preempted, 1);
  s.runAll();
  s.check();
  s.expectScored(number);
  EXPECT_GT(s.scheduler->rows().ledger().foundTokens(), 0);
}

TEST(PromptScoresTest, ARequestThatEndsIsToldNothingMore) {
  Scores s;
  s.limits.prefillRows = 8;
  RequestNumber number = s.score(countingPrompt(1, 100), 3);
  s.run(ms(25));
  s.finish(number);
  RequestNumber next = s.score(countingPrompt(300, 30), 3);
  s.runAll();
  s.check();
  s.expectScored(next);
}

TEST(PromptScoresTest, AnErrorEndsTheRequest) {
  Scores s;
  RequestNumber number = s.score(countingPrompt(1, 10), 3);
  ResultFrame frame;
  frame.results.push_back({2, 0, 0, {}, "a logit is not a number"});
  s.scheduler->onResults(frame, s.now);
  s.take();
  EXPECT_EQ(s.reported[number].ends, 1);
  EXPECT_EQ(s.reported[number].end.reason, FinishReason::Error);
  EXPECT_EQ(s.reported[number].end.failure.message(),
            "a logit is not a number");
}

TEST(PromptScoresTest, WithoutLogProbabilitiesThereIsNothingToReport) {
  Scores s;
  s.begin();
  ScheduledRequest request;
  request.spec.prompt = {1, 2};
  request.spec.scoresPrompt = true;
  EXPECT_EQ(s.scheduler->submit(request, s.now).why,
            "request: the prompt is to be scored, without log-probabilities");
}

/// The same is reported once, whatever the batch mates, the cache and the
/// preemptions.
TEST(PromptScoresTest, TheScheduleChangesNothing) {
  std::mt19937 random(3);
  auto upTo = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % uint64_t(high - low + 1));
  };
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    Scores s;
    s.limits.requests = upTo(1, 4);
    s.limits.stages = upTo(1, 3);
    s.limits.prefillRows = upTo(4, 60);
    s.limits.outputs = upTo(1, 40);
    s.limits.sharesPrefixes = random() % 2;
    s.limits.pages = upTo(12, 30);
    s.queue.priorityStep = ms(100);
    std::vector<RequestNumber> scored;
    for (int i = 0; i < 8; ++i) {
      Text text = countingPrompt(random() % 2 ? 1 : 400, upTo(1, 200));
      int32_t priority = static_cast<int32_t>(upTo(-3, 3));
      if (random() % 2)
        scored.push_back(s.score(text, upTo(0, 40), priority));
      else
        s.submit(text, upTo(1, 40), priority);
      s.run(s.now + ms(upTo(0, 60)));
    }
    s.runAll();
    s.check();
    for (RequestNumber number : scored)
      s.expectScored(number);
  }
}

} // namespace
