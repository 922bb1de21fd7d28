//===- SchedulerFairnessTest.cpp - tenants do not harm each other ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/SchedulerScript.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

class SchedulerFairnessTest : public testing::Test {
protected:
  SchedulerFairnessTest() { s.limits.requests = 4; }

  /// Submits `count` requests of a tenant, of `tokens` tokens each.
  std::vector<RequestNumber> flood(TenantNumber tenant, int count,
                                   int64_t tokens, int32_t priority = 0) {
    s.tenant = tenant;
    std::vector<RequestNumber> numbers;
    for (int i = 0; i < count; ++i)
      numbers.push_back(
          s.submit(prompt(int32_t(1000 * tenant) + i), tokens, priority));
    return numbers;
  }
  int64_t tokensOf(const std::vector<RequestNumber> &numbers) const {
    int64_t tokens = 0;
    for (RequestNumber number : numbers)
      tokens += std::ssize(s.reported.at(number).tokens);
    return tokens;
  }

  /// Returns the second tenant's share of the tokens, if two tenants always
  /// have requests waiting, and the second has this weight and the first has
  /// weight 1.
  double shareOfSecond(double weight, int requests) {
    std::vector<RequestNumber> first = flood(1, requests, 40);
    s.terms.weight = weight;
    std::vector<RequestNumber> second = flood(2, requests, 40);
    s.run(ms(15000));
    const int64_t one = tokensOf(first), two = tokensOf(second);
    EXPECT_GT(one + two, 500);
    s.runAll();
    s.check();
    return double(two) / double(one + two);
  }

  SchedulerScript s;
};

/// However many requests come first, and however urgent they claim to be.
TEST_F(SchedulerFairnessTest, AFloodDoesNotKeepOthersWaiting) {
  flood(1, 128, 200, /*priority=*/-1000);
  s.run(ms(100));
  Time came = s.now;
  std::vector<RequestNumber> other = flood(2, 1, 10);
  s.run(came + ms(2000));
  const auto &reported = s.reported.at(other[0]);
  EXPECT_EQ(reported.ends, 1);
  // The request got a slot at once, because another one was preempted.
  EXPECT_LT(reported.end.waited, ms(50));
  s.runAll();
  s.check();
}

TEST_F(SchedulerFairnessTest, TenantsThatAlwaysWaitShareAlike) {
  EXPECT_NEAR(shareOfSecond(/*weight=*/1, /*requests=*/60), 0.5, 0.1);
}

TEST_F(SchedulerFairnessTest, AWeightOfTwoIsTwiceTheShare) {
  EXPECT_NEAR(shareOfSecond(/*weight=*/2, /*requests=*/90), 0.67, 0.12);
}

/// Shares are of the work, and not of the requests: who sends short requests
/// does not wait for the long ones of another to end.
TEST_F(SchedulerFairnessTest, ShortRequestsGetTheShareOfLongOnes) {
  s.queue.fairQuantum = 64;
  std::vector<RequestNumber> longOnes = flood(1, 16, 900), shortOnes;
  const auto ended = [&](RequestNumber number) {
    return s.reported.at(number).ends > 0;
  };
  for (Time end = s.now + ms(8000); s.now < end; s.run(s.now + ms(20)))
    while (std::ssize(shortOnes) - std::ranges::count_if(shortOnes, ended) < 4)
      shortOnes.push_back(flood(2, 1, 10)[0]);
  EXPECT_EQ(std::ranges::count_if(longOnes, ended), 0);
  // A short request has four rows of a prompt for ten tokens, and the work of
  // both is alike.
  const double one = double(2 * tokensOf(longOnes)),
               two = double(24 * std::ranges::count_if(shortOnes, ended));
  EXPECT_GT(one + two, 3000);
  EXPECT_NEAR(two / (one + two), 0.5, 0.06);
  s.runAll();
  s.check();
}

/// Three tenants take turns in two slots, and no turn is shorter than a
/// quantum.
TEST_F(SchedulerFairnessTest, TenantsTakeTurnsOfAQuantum) {
  s.limits.requests = 2;
  s.queue.fairQuantum = 100;
  std::vector<RequestNumber> requests;
  for (TenantNumber tenant = 1; tenant <= 3; ++tenant)
    requests.push_back(flood(tenant, 1, 500)[0]);
  const auto tokens = [&](size_t request) {
    return std::ssize(s.reported.at(requests[request]).tokens);
  };
  while (tokens(0) < 400) {
    s.run(s.now + ms(10));
    // A token is two units of work.
    for (size_t other : {1, 2})
      EXPECT_LE(std::abs(tokens(0) - tokens(other)), 3 * 50) << s.now.count();
    ASSERT_LT(s.now, ms(60000));
  }
  EXPECT_LE(s.scheduler->preemptions(), 3 * 400 / 50);
  s.runAll();
  s.check();
}

/// Two tenants with half of the slots each do not take each other's places at
/// every quantum.
TEST_F(SchedulerFairnessTest, EqualTenantsLeaveEachOtherAlone) {
  s.queue.fairQuantum = 64;
  std::vector<RequestNumber> first = flood(1, 8, 400);
  std::vector<RequestNumber> second = flood(2, 8, 400);
  while (tokensOf(first) + tokensOf(second) < 1200)
    s.run(s.now + ms(10));
  EXPECT_NEAR(double(tokensOf(first)) / double(tokensOf(second)), 1, 0.2);
  EXPECT_LE(s.scheduler->preemptions(), 2);
  s.runAll();
  s.check();
}

/// A prompt that takes longer than a turn gets done, though each turn begins
/// with what the last one had computed.
TEST_F(SchedulerFairnessTest, LongPromptsGetDoneTurnByTurn) {
  s.limits.requests = 1;
  s.limits.prefillRows = 16;
  s.queue.fairQuantum = 32;
  s.tenant = 1;
  const RequestNumber big = s.submit(prompt(1, 900), 4);
  std::vector<RequestNumber> small = flood(2, 40, 40);
  s.runAll();
  s.check();
  EXPECT_GT(s.scheduler->preemptions(), 4);
  // It is done before all of the others' work, which is more.
  EXPECT_LT(s.reported.at(big).ended, s.reported.at(small.back()).ended);
}

TEST_F(SchedulerFairnessTest, PrioritiesAreAmongOnesOwn) {
  std::vector<RequestNumber> usual = flood(1, 20, 30);
  std::vector<RequestNumber> urgent = flood(1, 1, 30, /*priority=*/-1000);
  flood(2, 4, 30);
  s.runAll();
  s.check();
  // Except for those that ran already.
  for (size_t i = 4; i < usual.size(); ++i)
    EXPECT_LT(s.reported.at(urgent[0]).ended, s.reported.at(usual[i]).ended)
        << i;
}

TEST_F(SchedulerFairnessTest, SoManyOfATenantRunAtOnceAtMost) {
  s.terms.maxRunning = 2;
  std::vector<RequestNumber> capped = flood(1, 6, 40);
  auto running = [&] {
    return std::ranges::count_if(
        capped, [&](RequestNumber number) { return s.isRunning(number); });
  };
  for (int64_t at = 50; at < 500; at += 50) {
    s.run(ms(at));
    EXPECT_LE(running(), 2);
  }
  EXPECT_LE(s.scheduler->load().running, 2);
  s.terms.maxRunning = 0;
  std::vector<RequestNumber> free = flood(2, 2, 10);
  EXPECT_EQ(s.scheduler->load().running, 4);
  s.runAll();
  s.check();
}

TEST_F(SchedulerFairnessTest, TermsOutOfRangeAreRefused) {
  for (double weight : {0.0, 0.0009, 1001.0, std::nan("")}) {
    s.terms.weight = weight;
    EXPECT_EQ(s.submit(prompt(1), 4), -1) << weight;
    EXPECT_EQ(s.last.refusal, Refusal::Invalid) << weight;
  }
  s.terms = {.maxRunning = -1};
  EXPECT_EQ(s.submit(prompt(1), 4), -1);
}

} // namespace
