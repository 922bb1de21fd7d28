//===- SummaryTest.cpp - the results of a run -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/Summary.h"

#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::bench;
using namespace std::chrono_literals;

namespace {

RequestRecord success(Time started, Time first, std::vector<Time> gaps,
                      int64_t tokens) {
  RequestRecord record;
  record.started = started;
  record.firstToken = record.lastToken = started + first;
  for (Time gap : gaps)
    record.lastToken += gap;
  record.ended = record.lastToken;
  record.gaps = std::move(gaps);
  record.promptTokens = 10;
  record.outputTokens = tokens;
  record.tokensFromServer = true;
  return record;
}

RequestRecord failed(const char *kind) {
  RequestRecord record;
  record.errorKind = kind;
  record.error = std::string("error ") + kind;
  record.outputTokens = 1000; // not counted anywhere
  record.firstToken = 1h;
  return record;
}

RunRecord someRun() {
  RunRecord run;
  run.duration = 4s;
  run.peakInFlight = 3;
  run.notStarted = 2;
  run.requests = {success(0ms, 100ms, {10ms, 30ms}, 3),
                  failed("http_500"),
                  success(50ms, 200ms, {20ms}, 5), // pieces of several tokens
                  success(60ms, 300ms, {}, 1),
                  failed("closed"),
                  failed("http_500"),
                  failed("cancelled")};
  run.requests[0].startDelay = 1ms;
  run.requests[2].startDelay = 2ms;
  run.requests[3].startDelay = 500ms;
  run.requests[3].heldBack = true;
  run.requests[3].tokensFromServer = false;
  return run;
}

TEST(SummaryTest, CountsAndRates) {
  Summary summary = summarize(someRun(), {});
  EXPECT_EQ(summary.requests, 7u);
  EXPECT_EQ(summary.completed, 3u);
  EXPECT_EQ(summary.failed, 3u);
  EXPECT_EQ(summary.cancelled, 1u);
  EXPECT_EQ(summary.notStarted, 2u);
  EXPECT_EQ(summary.errorsByKind,
            (std::map<std::string, size_t>{{"closed", 1}, {"http_500", 2}}));
  EXPECT_EQ(summary.firstError, "error http_500");
  EXPECT_EQ(summary.promptTokens, 30);
  EXPECT_EQ(summary.outputTokens, 9);
  EXPECT_EQ(summary.countedInPieces, 1u);
  EXPECT_DOUBLE_EQ(summary.durationSeconds, 4);
  EXPECT_DOUBLE_EQ(summary.outputTokensPerSecond, 9 / 4.0);
  EXPECT_DOUBLE_EQ(summary.totalTokensPerSecond, 39 / 4.0);
  EXPECT_DOUBLE_EQ(summary.requestsPerSecond, 3 / 4.0);
  EXPECT_EQ(summary.peakInFlight, 3u);
  EXPECT_EQ(summary.lateStarts, 1u);
  EXPECT_EQ(summary.heldBack, 1u);
  EXPECT_DOUBLE_EQ(summary.startDelayMs.max, 500);
}

TEST(SummaryTest, Latencies) {
  Summary summary = summarize(someRun(), {});
  EXPECT_EQ(summary.ttftMs.count, 3u);
  EXPECT_DOUBLE_EQ(summary.ttftMs.mean, 200);
  EXPECT_DOUBLE_EQ(summary.ttftMs.p50, 200);
  EXPECT_DOUBLE_EQ(summary.ttftMs.p90, 280);
  EXPECT_DOUBLE_EQ(summary.ttftMs.max, 300);
  EXPECT_EQ(summary.itlMs.count, 3u); // of all requests together
  EXPECT_DOUBLE_EQ(summary.itlMs.mean, 20);
  EXPECT_EQ(summary.tpotMs.count, 2u); // of requests with two tokens or more
  EXPECT_DOUBLE_EQ(summary.tpotMs.mean, (40.0 / 2 + 20.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(summary.e2eMs.mean, (140 + 220 + 300) / 3.0);
}

TEST(SummaryTest, Goodput) {
  struct Case {
    const char *limits;
    size_t good;
    int64_t tokens;
  };
  const Case cases[] = {
      {"ttft:1000", 3, 9},       {"ttft:200", 2, 8},
      {"ttft:199.9", 1, 3},      {"itl:29", 2, 6},
      {"itl:30", 3, 9},          {"tpot:19.9", 2, 6},
      {"e2e:140", 1, 3},         {"e2e:139", 0, 0},
      {"ttft:250,itl:20", 1, 5}, {"e2e:220,ttft:150,tpot:20,itl:30", 1, 3}};
  for (const Case &each : cases) {
    Expected<GoodputLimits> limits = parseGoodput(each.limits);
    ASSERT_TRUE(limits) << limits.status().message();
    EXPECT_TRUE(limits->any());
    Summary summary = summarize(someRun(), *limits);
    EXPECT_EQ(summary.good, each.good) << each.limits;
    EXPECT_EQ(summary.goodTokens, each.tokens) << each.limits;
  }
}

TEST(SummaryTest, GoodputRefuses) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "'' is none of ttft, tpot, itl, e2e"},
      {"ttft", "ttft needs a number of milliseconds above 0, as in ttft:500"},
      {"ttft:", "ttft needs a number"},
      {"ttft:0", "ttft needs a number"},
      {"ttft:-1", "ttft needs a number"},
      {"ttft:x", "ttft needs a number"},
      {"ttft:nan", "ttft needs a number"},
      {"ttft:5ms", "ttft needs a number"},
      {"e2el:5", "'e2el' is none of"},
      {"ttft:5,", "'' is none of"},
      {"ttft:5,ttft:6", "ttft is given twice"},
      {"ttft:5 itl:6", "ttft needs a number"}};
  for (const auto &[text, why] : cases) {
    Expected<GoodputLimits> limits = parseGoodput(text);
    ASSERT_FALSE(limits) << text;
    EXPECT_EQ(limits.status().message().find(why), 0u)
        << limits.status().message();
  }
}

TEST(SummaryTest, OfNothing) {
  Summary summary = summarize({}, {});
  EXPECT_EQ(summary.requests, 0u);
  EXPECT_EQ(summary.outputTokensPerSecond, 0);
  EXPECT_EQ(summary.ttftMs.count, 0u);
}

} // namespace
