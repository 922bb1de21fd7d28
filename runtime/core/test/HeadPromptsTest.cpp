//===- HeadPromptsTest.cpp - prompts beside generating requests -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CachePages.h"
#include "runtime/core/test/SchedulerScript.h"

#include <random>

using namespace sluice;
using namespace sluice::test;

namespace {

using Arrived = TextStages::Arrived;

int64_t rowsOf(const StepFrame &frame, RequestId request) {
  return std::count_if(frame.rows.begin(), frame.rows.end(),
                       [&](const Row &row) { return row.request == request; });
}

/// Steps take 10 ms, plus 0.1 ms for each row after the first.
struct Prompts : SchedulerScript {
  Prompts() {
    limits.requests = 8;
    limits.contextLength = 4096;
    limits.prefillRows = 512;
    times = {ms(10), std::chrono::microseconds(100)};
  }
  /// Submits so many requests that generate all the time.
  void generate(int32_t requests) {
    for (int32_t i = 0; i < requests; ++i)
      submit(prompt(100 + i, 1), 3000);
    run(now + ms(50));
  }
  /// Returns the frames with prompt rows since frame `first`.
  std::vector<const Arrived *> chunksSince(size_t first) const {
    std::vector<const Arrived *> chunks;
    for (size_t i = first; i < stages->arrived().size(); ++i)
      if (stages->arrived()[i].known > 0)
        chunks.push_back(&stages->arrived()[i]);
    return chunks;
  }
};

//===----------------------------------------------------------------------===//
// How long chunks are
//===----------------------------------------------------------------------===//

TEST(HeadPromptsTest, ChunksKeepTheBoundBetweenTwoTokens) {
  Prompts s;
  s.limits.interTokenLatency = ms(20);
  s.generate(5);
  size_t first = s.stages->arrived().size();
  RequestNumber late = s.submit(prompt(0, 1000), 5);
  s.run(s.now + ms(500));
  // 101 rows take 20 ms, and 5 of them are those of other requests.
  std::vector<const Arrived *> chunks = s.chunksSince(first);
  ASSERT_EQ(chunks.size(), 11u);
  for (const Arrived *each : chunks) {
    EXPECT_EQ(each->generated, 5);
    EXPECT_EQ(each->known, each == chunks.back() ? 40 : 96);
  }
  EXPECT_EQ(s.reported[late].ends, 1);
  for (RequestNumber number = 0; number < 5; ++number)
    EXPECT_LE(s.reported[number].longestGap, ms(20));
}

TEST(HeadPromptsTest, ChunksDoNotShareAStepInAStagesMailbox) {
  for (int64_t stages : {2, 3, 4}) {
    Prompts s;
    s.limits.stages = stages;
    // 20 ms for each stage allow 101 rows.
    s.limits.interTokenLatency = ms(20) * stages;
    s.generate(6);
    for (int32_t i = 0; i < 4; ++i) {
      s.submit(prompt(i, 1500), 5);
      s.run(s.now + ms(150));
    }
    s.run(s.now + ms(3000));
    EXPECT_GT(s.stages->maxMixedRows(), 90) << stages;
    EXPECT_LE(s.stages->maxMixedRows(), 104) << stages;
  }
}

TEST(HeadPromptsTest, PromptsMayMakeAStepAQuarterLongerWhateverTheBound) {
  Prompts s;
  s.limits.interTokenLatency = ms(1);
  s.generate(2);
  size_t first = s.stages->arrived().size();
  s.submit(prompt(0, 60), 1);
  s.run(s.now + ms(200));
  // A step of 2 rows takes 10.1 ms, one of 27 takes 12.6.
  std::vector<const Arrived *> chunks = s.chunksSince(first);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0]->known, 25);
  EXPECT_EQ(chunks[1]->known, 25);
  EXPECT_EQ(chunks[2]->known, 10);
}

TEST(HeadPromptsTest, PromptsGetOnByARowAStepWhereEachCostsAStep) {
  Prompts s;
  s.limits.interTokenLatency = ms(1);
  s.times = {ms(10), ms(10)};
  s.generate(2);
  size_t first = s.stages->arrived().size();
  s.submit(prompt(0, 5), 1);
  s.run(s.now + ms(400));
  std::vector<const Arrived *> chunks = s.chunksSince(first);
  ASSERT_EQ(chunks.size(), 5u);
  for (const Arrived *each : chunks)
    EXPECT_EQ(each->known, 1);
}

TEST(HeadPromptsTest, AStepHasNoMorePromptRowsThanItMay) {
  Prompts s;
  s.limits.prefillRows = 10;
  s.limits.interTokenLatency = ms(20);
  s.generate(2);
  size_t first = s.stages->arrived().size();
  s.submit(prompt(0, 40), 1);
  s.run(s.now + ms(200));
  for (const Arrived *each : s.chunksSince(first))
    EXPECT_LE(each->known, 10);
}

TEST(HeadPromptsTest, WhereNobodyGeneratesStepsAreFull) {
  Prompts s;
  s.limits.prefillRows = 64;
  s.limits.interTokenLatency = ms(11);
  s.submit(prompt(0, 300), 1);
  s.runAll();
  s.check();
  std::vector<const Arrived *> chunks = s.chunksSince(0);
  ASSERT_EQ(chunks.size(), 5u);
  EXPECT_EQ(chunks[0]->known, 64);
  EXPECT_EQ(chunks[4]->known, 44);
  // Two chunks leave at a time, so that the stage does not wait.
  EXPECT_EQ(chunks[1]->at, chunks[0]->at);
  EXPECT_GT(chunks[2]->at, chunks[1]->at);
}

// Rows late in a long prompt take several times as long as its first ones.
TEST(HeadPromptsTest, LongPromptsKeepTheBoundFromTheirBeginningsToTheirEnds) {
  Prompts s;
  s.limits.prefillRows = 64;
  s.limits.interTokenLatency = ms(5);
  s.times = {ms(2), std::chrono::microseconds(35), Time(100)};
  s.generate(2);
  for (int32_t i = 0; i < 3; ++i) {
    size_t first = s.stages->arrived().size();
    s.submit(prompt(i, 1900), 1);
    s.run(s.now + ms(800));
    std::vector<const Arrived *> chunks = s.chunksSince(first);
    ASSERT_GT(chunks.size(), 40u);
    EXPECT_EQ(chunks.back()->frame.rows.back().position, 1899);
    for (size_t at = 0; at < chunks.size(); ++at) {
      SCOPED_TRACE(testing::Message() << "prompt " << i << ", step " << at);
      const Arrived &each = *chunks[at];
      Time took = s.times.step(std::ssize(each.frame.rows), each.positions);
      EXPECT_LE(took, s.limits.interTokenLatency * 115 / 100);
      if (at >= 4 && &each != chunks.back()) {
        EXPECT_GE(took, s.limits.interTokenLatency * 70 / 100);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Whose rows
//===----------------------------------------------------------------------===//

TEST(HeadPromptsTest, HalfGoesToTheLongestWaitingAndTheRestToTheSoonestDone) {
  Prompts s;
  s.limits.prefillRows = 65;
  s.generate(1);
  s.run(s.now + ms(5));
  size_t first = s.stages->arrived().size();
  s.submit(prompt(1, 200), 50);
  s.submit(prompt(2, 40), 50);
  s.submit(prompt(3, 20), 50);
  s.run(s.now + ms(30));
  std::vector<const Arrived *> chunks = s.chunksSince(first);
  ASSERT_GE(chunks.size(), 2u);
  const StepFrame &frame = chunks[0]->frame;
  EXPECT_EQ(chunks[0]->known, 64) << "one row is the other request's";
  EXPECT_EQ(rowsOf(frame, 1), 32);
  EXPECT_EQ(rowsOf(frame, 3), 20);
  EXPECT_EQ(rowsOf(frame, 2), 12);
  EXPECT_EQ(rowsOf(chunks[1]->frame, 2), 28);
}

TEST(HeadPromptsTest, AnUrgentPromptIsTheLongestWaiting) {
  Prompts s;
  s.limits.prefillRows = 65;
  s.generate(1);
  s.run(s.now + ms(5));
  size_t first = s.stages->arrived().size();
  s.submit(prompt(1, 200), 50);
  s.submit(prompt(2, 300), 50, /*priority=*/-1);
  s.run(s.now + ms(15));
  const StepFrame &frame = s.chunksSince(first).at(0)->frame;
  EXPECT_EQ(rowsOf(frame, 2), 32 /* of 64 */);
  EXPECT_EQ(rowsOf(frame, 1), 32);
  s.run(s.now + ms(60));
  // The shorter prompt is done sooner, but never delays the urgent one.
  EXPECT_GE(rowsOf(s.chunksSince(first).at(1)->frame, 2), 32);
}

//===----------------------------------------------------------------------===//
// Certain rows
//===----------------------------------------------------------------------===//

TEST(HeadPromptsTest, WithOneStageEachStepHasARowOfEveryRequest) {
  Prompts s;
  s.generate(8);
  size_t first = s.stages->arrived().size();
  s.run(s.now + ms(200));
  ASSERT_GT(s.stages->arrived().size(), first + 10);
  for (size_t i = first; i < s.stages->arrived().size(); ++i)
    EXPECT_EQ(s.stages->arrived()[i].generated, 8);
}

TEST(HeadPromptsTest, WithSeveralStagesRequestsTakeTurnsInAsManyGroups) {
  for (int64_t stages : {2, 3, 4, 8}) {
    Prompts s;
    s.limits.stages = stages;
    s.times = {ms(10), Time(0)};
    s.generate(8);
    s.run(s.now + ms(300)); // until the requests have formed groups
    size_t first = s.stages->arrived().size();
    Time began = s.now;
    s.run(began + ms(400));
    int64_t rows = 0;
    for (size_t i = first; i < s.stages->arrived().size(); ++i) {
      EXPECT_LE(s.stages->arrived()[i].generated, (8 + stages - 1) / stages);
      rows += s.stages->arrived()[i].generated;
    }
    EXPECT_GE(rows, 8 * (40 / stages) - 16) << stages;
  }
}

//===----------------------------------------------------------------------===//
// How long a request waits
//===----------------------------------------------------------------------===//

/// Random requests, each of which has a slot at once.
class RandomPrompts {
public:
  explicit RandomPrompts(uint64_t seed) : random(seed) {
    s.limits.requests = 24;
    s.limits.contextLength = 2048;
    s.limits.prefillRows = upTo(20, 200);
    s.times = {ms(10), std::chrono::microseconds(upTo(0, 100))};
    if (upTo(0, 1) == 0)
      s.limits.interTokenLatency = ms(upTo(10, 30));
    s.begin();
  }

  void run() {
    for (int32_t i = 0; i < 24; ++i) {
      framesBefore.push_back(s.stages->arrived().size());
      s.submit(prompt(i, upTo(0, 2) == 0 ? upTo(100, 1500) : upTo(1, 40)),
               upTo(1, 100));
      s.run(s.now + ms(upTo(0, 1) == 0 ? 0 : upTo(0, 100)));
    }
    s.runAll();
    s.check();
    for (const auto &[number, each] : s.reported) {
      checkGaps(each);
      checkPrompt(number, each);
    }
  }
  int64_t longestWait = 0;

private:
  int64_t upTo(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  /// Returns how many rows of prompts a step has at least, if there are so
  /// many. Under a bound that is a quarter of the shortest step: 25 rows or
  /// more.
  int64_t minBudget() const {
    int64_t max = s.limits.interTokenLatency > Time(0)
                      ? 16
                      : s.limits.prefillRows - s.limits.requests;
    return std::max(max, std::min<int64_t>(16, s.limits.prefillRows));
  }

  /// A generating request has a row in every step: no gap is longer than a
  /// step.
  void checkGaps(const SchedulerScript::Reported &each) const {
    int64_t others = s.limits.requests;
    Time longest = s.times.step(s.limits.prefillRows + others);
    if (s.limits.interTokenLatency > Time(0))
      longest = std::max(s.limits.interTokenLatency,
                         s.times.step(others) + s.times.step(others) / 4);
    EXPECT_LE(each.longestGap, longest);
  }

  /// The earliest request has half of each step with prompt rows. So a request
  /// waits for no more of them than the prompts before it and its own have
  /// halves, plus those that were under way when it came.
  void checkPrompt(RequestNumber number,
                   const SchedulerScript::Reported &each) {
    int64_t half = (minBudget() + 1) / 2;
    int64_t bound = 2;
    for (RequestNumber before = 0; before <= number; ++before)
      bound += (std::ssize(s.reported[before].prompt) + half - 1) / half;
    int64_t steps = 0, waited = 0;
    const std::vector<Arrived> &frames = s.stages->arrived();
    for (size_t i = framesBefore[static_cast<size_t>(number)];
         i < frames.size() && frames[i].at < each.firstToken; ++i) {
      steps += frames[i].known > 0;
      if (rowsOf(frames[i].frame, each.end.slot) > 0)
        waited = steps;
    }
    EXPECT_GT(waited, 0);
    EXPECT_LE(waited, bound) << number;
    longestWait = std::max(longestWait, waited);
  }

  std::mt19937_64 random;
  Prompts s;
  std::vector<size_t> framesBefore; ///< frames that had left when it came
};

TEST(HeadPromptsTest, NobodyWaitsForItsNextRowForEver) {
  int64_t longestWait = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    RandomPrompts load(seed);
    load.run();
    ASSERT_FALSE(testing::Test::HasFailure());
    longestWait = std::max(longestWait, load.longestWait);
  }
  EXPECT_GT(longestWait, 20) << "some had to wait";
}

//===----------------------------------------------------------------------===//
// Shared prefixes
//===----------------------------------------------------------------------===//

struct Sharing : Prompts {
  Sharing() {
    limits.pages = 64;
    limits.sharesPrefixes = true;
  }
  /// Returns the frame in which the slot's last request was opened, or null.
  const Arrived *opened(RequestId slot) const {
    const Arrived *found = nullptr;
    for (const Arrived &each : stages->arrived())
      for (const OpenRequest &open : each.frame.opens)
        if (open.request == slot)
          found = &each;
    return found;
  }
};

TEST(HeadPromptsTest, ARequestBeginsWithThePagesOfAnother) {
  Sharing s;
  Text text = prompt(0, 70);
  RequestNumber one = s.submit(text, 40);
  s.run(ms(200));
  ASSERT_TRUE(s.isRunning(one));
  text.resize(64);
  text.push_back(77);
  RequestNumber two = s.submit(text, 40);
  s.run(s.now + ms(20));
  const Arrived *frame = s.opened(1);
  ASSERT_TRUE(frame);
  const OpenRequest &open = frame->frame.opens[0];
  EXPECT_EQ(open.prefixPages.size(), 2u);
  EXPECT_EQ(open.prefix, Text(text.begin(), text.begin() + 64));
  EXPECT_EQ(open.knownTokens, 65);
  EXPECT_EQ(rowsOf(frame->frame, 1), 1) << "only the last row is computed";
  s.runAll();
  s.check();
  EXPECT_EQ(s.reported[two].tokens.size(), 40u);
  EXPECT_EQ(s.scheduler->rows().ledger().foundTokens(), 64);
}

TEST(HeadPromptsTest, WhatWasGeneratedIsSharedToo) {
  Sharing s;
  Text text = prompt(0, 20);
  s.submit(text, 60);
  s.runAll();
  Text more = TextStages::output(text, 60);
  text.insert(text.end(), more.begin(), more.end());
  s.submit(text, 5);
  s.runAll();
  s.check();
  // Of 80 tokens; the first run does not compute the row of its last token.
  EXPECT_EQ(s.scheduler->rows().ledger().foundTokens(), 64);
}

TEST(HeadPromptsTest, APinnedPageIsThereBeforeWhoBeginsWithIt) {
  Sharing s;
  Text text = prompt(0, 40);
  s.submit(text, 1);
  s.run(ms(1000));
  // The frame that closed the request pinned its page. Right after it, two
  // other requests want that page.
  s.submit(text, 3);
  s.submit(text, 3);
  s.runAll();
  s.check();
  size_t kept = 0, opened = 0;
  const std::vector<Arrived> &frames = s.stages->arrived();
  for (size_t i = 0; i < frames.size(); ++i) {
    if (!frames[i].frame.pins.empty() && kept == 0)
      kept = i + 1;
    for (const OpenRequest &open : frames[i].frame.opens)
      if (!open.prefixPages.empty() && opened == 0)
        opened = i + 1;
  }
  ASSERT_GT(kept, 0u);
  EXPECT_GT(opened, kept);
  EXPECT_EQ(s.scheduler->rows().ledger().foundTokens(), 64);
}

} // namespace
