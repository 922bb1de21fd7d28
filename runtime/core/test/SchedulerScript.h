//===- SchedulerScript.h - a scheduler with stages for tests --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scheduler with stages in virtual time, and what its users were told.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_SCHEDULERSCRIPT_H
#define SLUICE_RUNTIME_CORE_TEST_SCHEDULERSCRIPT_H

#include "runtime/core/Scheduler.h"
#include "runtime/core/test/TextStages.h"

#include <gtest/gtest.h>

namespace sluice::test {

inline Time ms(int64_t count) { return std::chrono::milliseconds(count); }

/// Returns a prompt of so many tokens that shares no prefix with other
/// requests.
inline Text prompt(int32_t request, int64_t tokens = 4) {
  Text text(static_cast<size_t>(tokens), 5);
  text[0] = request;
  return text;
}

struct SchedulerScript {
  /// What a user was told of a request.
  struct Reported {
    Text prompt, tokens;
    Text scored; ///< tokens of the prompt that were reported
    int64_t ends = 0;
    RequestEnd end;
    Time firstToken{0}, lastToken{0}, ended{0};
    Time longestGap{0}; ///< between two tokens
  };

  HeadLimits limits = {.requests = 2, .contextLength = 1024};
  SchedulerLimits queue;
  LineTimes times;
  std::optional<Scheduler> scheduler;
  std::optional<TextStages> stages;
  std::map<RequestNumber, Reported> reported;
  Time now{0};
  Submission last;
  TenantNumber tenant = 0; ///< the tenant of requests that are submitted
  TenantTerms terms;

  void begin() {
    SpeculationOptions off;
    off.mode = SpeculationMode::Off;
    Expected<Head> head = Head::create(limits, off, times.predicted());
    ASSERT_TRUE(head) << head.status().message();
    Expected<Scheduler> made = Scheduler::create(head.take(), queue);
    ASSERT_TRUE(made) << made.status().message();
    scheduler.emplace(made.take());
    stages.emplace(scheduler->rows().limits(), times);
  }

  /// Returns the request's number, or -1 if it was refused; then `last` says
  /// why.
  RequestNumber submit(Text prompt, int64_t maxTokens, int32_t priority = 0,
                       std::optional<Time> deadline = {},
                       bool scoresPrompt = false) {
    if (!scheduler)
      begin();
    ScheduledRequest request;
    request.spec.prompt = prompt;
    request.spec.maxTokens = maxTokens;
    request.spec.scoresPrompt = scoresPrompt;
    if (scoresPrompt)
      request.spec.logProbabilities = 0;
    request.spec.tenant = tenant;
    request.terms = terms;
    request.priority = priority;
    request.deadline = deadline;
    last = scheduler->submit(std::move(request), now);
    if (last.refusal == Refusal::None)
      reported[last.number].prompt = std::move(prompt);
    take();
    return last.refusal == Refusal::None ? last.number : -1;
  }
  void finish(RequestNumber number,
              FinishReason reason = FinishReason::Cancelled) {
    scheduler->finish(number, reason, now);
    take();
  }

  /// Runs until the time `until`.
  void run(Time until) {
    for (int64_t events = 0; events < 1000000; ++events) {
      std::optional<Time> next = stages->ends();
      std::optional<Time> wake = scheduler->commands().wake;
      if (wake && (!next || *wake < *next))
        next = std::max(*wake, now);
      if (!next || *next > until) {
        now = std::max(now, until);
        return;
      }
      now = std::max(now, *next);
      for (const ResultFrame &answer : stages->advance(now)) {
        scheduler->onResults(answer, now);
        take();
      }
      if (scheduler->commands().wake && *scheduler->commands().wake <= now) {
        scheduler->onWake(now);
        take();
      }
    }
    FAIL() << "goes on for ever";
  }
  /// Runs until nothing is left to do, but at most a day.
  void runAll() {
    Time end = now + std::chrono::hours(24);
    while (!(scheduler->load() == Scheduler::Load{}) && now < end &&
           !testing::Test::HasFatalFailure())
      run(std::min(end, now + ms(1000)));
    run(now + ms(1000));
  }

  /// Checks that nothing is held, no rule was broken, and each request has
  /// ended once, with the tokens of its text unless it was ended early.
  void check() {
    EXPECT_EQ(stages->broken(), std::vector<std::string>());
    EXPECT_EQ(stages->openRequests(), 0);
    EXPECT_EQ(scheduler->load(), Scheduler::Load{});
    EXPECT_EQ(scheduler->rows().holdings(), Head::Holdings{});
    EXPECT_EQ(stages->pinnedPages(), scheduler->rows().ledger().pinned());
    for (const auto &[number, each] : reported) {
      EXPECT_EQ(each.ends, 1) << number;
      EXPECT_EQ(each.tokens,
                TextStages::output(each.prompt, std::ssize(each.tokens)))
          << number;
    }
  }
  bool isRunning(RequestNumber number) const {
    return reported.at(number).ends == 0 && !reported.at(number).tokens.empty();
  }

  /// Takes the events of the head and the scheduler.
  void take() {
    Scheduler::Load load = scheduler->load();
    ASSERT_LE(load.waiting, queue.waiting + limits.requests);
    ASSERT_LE(load.reserved,
              std::min(load.waiting, limits.requests - load.running));
    ASSERT_LE(load.waiting + load.preempted,
              queue.waiting + 2 * limits.requests);
    stages->take(scheduler->commands(), now);
    for (const TokenEvent &token : scheduler->events().tokens) {
      Reported &each = reported[token.number];
      if (token.ofPrompt) {
        takeScore(each, token);
        continue;
      }
      if (each.tokens.empty())
        each.firstToken = now;
      else
        each.longestGap = std::max(each.longestGap, now - each.lastToken);
      each.lastToken = now;
      EXPECT_EQ(each.ends, 0) << "a token after the end";
      each.tokens.push_back(token.token);
    }
    for (const RequestEnd &end : scheduler->events().ends) {
      Reported &each = reported[end.number];
      ++each.ends;
      each.end = end;
      each.ended = now;
    }
    scheduler->clear();
  }

  /// Checks that scores come in order, once, and before the first token.
  static void takeScore(Reported &request, const TokenEvent &token) {
    EXPECT_EQ(request.ends, 0) << "a score after the end";
    EXPECT_TRUE(request.tokens.empty()) << "a score after a token";
    request.scored.push_back(token.token);
    ASSERT_EQ(token.report.size(), 1u);
    EXPECT_EQ(token.report[0].token, token.token);
    EXPECT_EQ(token.report[0].logProbability,
              TextStages::scoreAt(std::ssize(request.scored)));
  }
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_SCHEDULERSCRIPT_H
