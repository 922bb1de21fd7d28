//===- FairQueueingTest.cpp - a fair order of requests of tenants ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/FairQueueing.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>

using namespace sluice;

namespace {

constexpr int64_t quantum = 20;

/// Requests with names of one letter.
struct Turns {
  FairQueueing fair{quantum};
  struct Request {
    std::string name;
    FairQueueing::Place place;
    bool runs = false;
  };
  std::map<RequestNumber, Request> requests;
  RequestNumber next = 0;

  RequestNumber add(const std::string &name, TenantNumber tenant,
                    int64_t ownTime = 0, const TenantTerms &terms = {}) {
    const RequestNumber number = next++;
    requests[number] = {name, {tenant, {Time(ownTime), number}}};
    fair.add(requests[number].place, terms);
    return number;
  }
  void remove(RequestNumber number) {
    fair.remove(requests.at(number).place);
    requests.erase(number);
  }
  void setRunning(RequestNumber number, bool runs) {
    fair.setRunning(requests.at(number).place, runs);
    requests.at(number).runs = runs;
  }
  QueuePriority priority(RequestNumber number) const {
    return fair.queuePriority(requests.at(number).place);
  }
  /// Adds a request that runs at once.
  RequestNumber run(const std::string &name, TenantNumber tenant,
                    const TenantTerms &terms = {}) {
    const RequestNumber number = add(name, tenant, 0, terms);
    setRunning(number, true);
    return number;
  }

  /// Returns the names of all requests in the order of the queue priorities.
  std::string order() const {
    std::map<QueuePriority, std::string> sorted;
    for (const auto &[number, request] : requests)
      sorted[priority(number)] = request.name;
    std::string all;
    for (const auto &[queuePriority, name] : sorted)
      all += name;
    return all;
  }
  /// Returns the names of the waiting requests in the order of a walk.
  std::string waiting() {
    std::string all;
    fair.beginWalk();
    while (std::optional<QueuePriority> at = fair.next()) {
      EXPECT_EQ(*at, priority(at->number));
      all += requests.at(at->number).name;
    }
    EXPECT_FALSE(fair.walkWasCut());
    return all;
  }
};

TEST(FairQueueingTest, OneTenantsComeAsTheyWouldAlone) {
  Turns turns;
  turns.add("b", 1, 20);
  turns.add("c", 1, 30);
  turns.add("a", 1, 10); // with priority
  turns.add("d", 1, 40);
  EXPECT_EQ(turns.order(), "abcd");
  EXPECT_EQ(turns.waiting(), "abcd");
}

TEST(FairQueueingTest, ANewcomerIsAmongTheFirst) {
  Turns turns;
  for (int i = 0; i < 100; ++i)
    turns.add("a", 1, -1000000);
  turns.add("x", 2);
  turns.add("y", 2);
  EXPECT_EQ(turns.order().substr(0, 4), "axay");
  EXPECT_EQ(turns.waiting().substr(0, 4), "axay");
}

TEST(FairQueueingTest, TenantsInterleaveByTheirWeights) {
  Turns turns;
  for (int i = 0; i < 6; ++i)
    turns.add("a", 1);
  for (int i = 0; i < 6; ++i)
    turns.add("x", 2, 0, {.weight = 2});
  EXPECT_EQ(turns.order(), "axxaxxaxxaaa");
}

TEST(FairQueueingTest, PriorityTakesAPlaceFromOnesOwnAlone) {
  Turns turns;
  const RequestNumber first = turns.add("a", 1, 10);
  turns.add("x", 2, 10);
  turns.add("b", 1, 20);
  turns.add("y", 2, 20);
  EXPECT_EQ(turns.order(), "axby");
  turns.add("U", 1, -1000000000);
  EXPECT_EQ(turns.order(), "xUayb");
  turns.remove(first);
  EXPECT_EQ(turns.order(), "xUby");
}

TEST(FairQueueingTest, WorkMovesATenantBackByWholeQuanta) {
  Turns turns;
  turns.run("A", 1);
  turns.add("a", 1);
  turns.add("x", 2);
  turns.add("y", 2);
  EXPECT_EQ(turns.order(), "Axay");
  EXPECT_FALSE(turns.fair.charge(1, quantum - 1));
  EXPECT_EQ(turns.order(), "Axay");
  EXPECT_TRUE(turns.fair.charge(1, 2));
  EXPECT_EQ(turns.order(), "xAya");
  EXPECT_FALSE(turns.fair.charge(1, quantum - 2));
  EXPECT_TRUE(turns.fair.charge(1, 1));
  EXPECT_EQ(turns.order(), "xyAa");
}

TEST(FairQueueingTest, WorkWeighsLessWithAGreaterWeight) {
  Turns turns;
  turns.add("a", 1, 0, {.weight = 0.5});
  turns.add("x", 2, 0, {.weight = 4});
  const Time before = turns.priority(0).at;
  EXPECT_TRUE(turns.fair.charge(1, 3 * quantum));
  EXPECT_TRUE(turns.fair.charge(2, 24 * quantum));
  EXPECT_EQ(turns.priority(0).at, turns.priority(1).at);
  EXPECT_GT(turns.priority(0).at, before);
}

TEST(FairQueueingTest, WhoDidNotHaveToWaitHasNoCredit) {
  Turns turns;
  turns.run("A", 1);
  turns.add("a", 1);
  RequestNumber seldom = turns.run("X", 2);
  turns.fair.charge(1, 100 * quantum);
  turns.fair.charge(2, quantum);
  // Both tenants' next requests come in turn, although the second has had less.
  turns.add("x", 2);
  turns.add("y", 2);
  EXPECT_EQ(turns.waiting(), "axy");
  turns.remove(seldom);
  EXPECT_EQ(turns.waiting(), "xay");
  // A third tenant begins with them.
  turns.add("m", 3);
  EXPECT_EQ(turns.waiting(), "xmay");
}

TEST(FairQueueingTest, WhoWaitedHasCredit) {
  Turns turns;
  turns.run("A", 1);
  turns.add("x", 2);
  turns.add("y", 2);
  turns.fair.charge(1, 5 * quantum);
  turns.add("a", 1);
  turns.add("b", 1);
  EXPECT_EQ(turns.waiting(), "xyab");
}

TEST(FairQueueingTest, LeavingDoesNotMakeOnesWorkForgotten) {
  Turns turns;
  const RequestNumber first = turns.run("A", 1);
  turns.run("X", 2);
  turns.add("x", 2);
  turns.fair.charge(1, 3 * quantum);
  turns.remove(first);
  turns.add("a", 1);
  EXPECT_EQ(turns.waiting(), "xa");
  // Once the others have come so far, nothing is left of it.
  turns.fair.charge(2, 50 * quantum);
  turns.remove(turns.next - 1);
  turns.add("a", 1);
  turns.add("m", 3);
  EXPECT_EQ(turns.waiting(), "amx");
}

TEST(FairQueueingTest, WorkThatNobodyWaitedForIsForgotten) {
  Turns turns;
  const RequestNumber first = turns.run("A", 1);
  const RequestNumber other = turns.run("X", 2);
  turns.fair.charge(1, 50 * quantum);
  turns.fair.charge(2, 3 * quantum);
  turns.remove(first);
  turns.add("m", 3);
  turns.add("a", 1);
  EXPECT_EQ(turns.waiting(), "ma");
  turns.remove(other);
  turns.add("x", 2);
  EXPECT_EQ(turns.waiting(), "max");
}

TEST(FairQueueingTest, WhoMayNotRunIsLeftOutOfAWalk) {
  Turns turns;
  const TenantTerms one = {.maxRunning = 1};
  RequestNumber running = turns.run("A", 1, one);
  turns.add("a", 1, 0, one);
  turns.run("X", 2);
  turns.add("x", 2);
  turns.fair.charge(2, 50 * quantum);
  EXPECT_EQ(turns.waiting(), "x");
  // The tenant that is held back by its own limit holds nobody back, and has no
  // credit.
  turns.add("m", 3);
  EXPECT_EQ(turns.waiting(), "mx");
  turns.remove(running);
  EXPECT_EQ(turns.waiting(), "amx");
  EXPECT_EQ(turns.priority(1).at, turns.priority(4).at);
  // A walk notices a limit that is reached on the way.
  turns.add("b", 1, 0, one);
  turns.fair.beginWalk();
  EXPECT_EQ(turns.fair.next()->number, 1);
  turns.setRunning(1, true);
  EXPECT_EQ(turns.fair.next()->number, 4);
  EXPECT_EQ(turns.fair.next()->number, 3);
  EXPECT_EQ(turns.fair.next(), std::nullopt);
}

TEST(FairQueueingTest, AWalkEndsWhereTheQueueChanges) {
  Turns turns;
  const RequestNumber running = turns.run("A", 1);
  turns.add("a", 1);
  turns.add("b", 1);
  turns.fair.beginWalk();
  EXPECT_TRUE(turns.fair.next());
  turns.setRunning(running, false);
  EXPECT_EQ(turns.fair.next(), std::nullopt);
  EXPECT_TRUE(turns.fair.walkWasCut());
  EXPECT_EQ(turns.waiting(), "Aab");
}

TEST(FairQueueingTest, TheLastOneIsFoundAmongThoseThatAreAsked) {
  Turns turns;
  turns.run("A", 1);
  const RequestNumber second = turns.add("a", 1);
  const RequestNumber third = turns.add("b", 1);
  turns.add("x", 2);
  auto last = [&](std::set<RequestNumber> among) {
    return turns.fair.lastWaiting([among](RequestNumber number) {
      return among.empty() || among.contains(number);
    });
  };
  EXPECT_EQ(last({}), turns.priority(third));
  EXPECT_EQ(last({0, second, 3}), turns.priority(second));
  EXPECT_EQ(last({0}), std::nullopt);
}

/// Whatever happens, walks and visits agree with the queue priorities one by
/// one, and nothing is kept of tenants once all have left.
TEST(FairQueueingTest, RandomEventsKeepTheOrder) {
  std::mt19937 random(1);
  Turns turns;
  for (int i = 0; i < 5000; ++i) {
    const TenantNumber tenant = random() % 5;
    const unsigned what = random() % 8;
    if (what < 3 || turns.requests.empty()) {
      TenantTerms terms{.weight = 0.5 * double(1 + tenant),
                        .maxRunning = tenant == 4 ? 2 : 0};
      turns.add("r", tenant, int64_t(random() % 7), terms);
    } else {
      auto at = std::next(turns.requests.begin(),
                          long(random() % turns.requests.size()));
      const Time before = turns.priority(at->first).at;
      if (what < 5)
        turns.setRunning(at->first, !at->second.runs);
      else if (what < 6)
        turns.fair.charge(at->second.place.tenant, random() % 30);
      if (what < 6) {
        EXPECT_GE(turns.priority(at->first).at, before);
      } else {
        turns.remove(at->first);
      }
    }
    if (i % 50 != 0)
      continue;
    std::map<TenantNumber, int64_t> running;
    for (const auto &[number, request] : turns.requests)
      running[request.place.tenant] += request.runs;
    std::set<QueuePriority> waits;
    for (const auto &[number, request] : turns.requests)
      if (!request.runs && (request.place.tenant != 4 || running[4] < 2))
        waits.insert(turns.priority(number));
    std::vector<QueuePriority> walked;
    turns.fair.beginWalk();
    while (std::optional<QueuePriority> next = turns.fair.next())
      walked.push_back(*next);
    EXPECT_EQ(walked, std::vector(waits.begin(), waits.end())) << i;
    for (TenantNumber each = 0; each < 5; ++each) {
      int64_t visited = 0;
      turns.fair.visitRunning(each, [&](const QueuePriority &at) {
        EXPECT_EQ(at, turns.priority(at.number));
        EXPECT_TRUE(turns.requests.at(at.number).runs);
        ++visited;
      });
      EXPECT_EQ(visited, running[each]) << i;
    }
  }
  while (!turns.requests.empty())
    turns.remove(turns.requests.begin()->first);
  EXPECT_EQ(turns.fair.tenantsKnown(), 0);
}

} // namespace
