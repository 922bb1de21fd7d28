//===- BeginQueueTest.cpp - a fair queue of unread requests ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/BeginQueue.h"

#include "runtime/serve/WorkPool.h"

#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <string>

using namespace sluice;
using namespace sluice::serve;

namespace {

constexpr int64_t anyNumber = std::numeric_limits<int64_t>::max();

class Named final : public WorkItem {
public:
  explicit Named(std::string name) : name(std::move(name)) {}
  bool begin(Pace) override { return true; }
  void expire() override {}
  void refuse() override {}
  void proceed() override {}

  const std::string name;
};

std::string nameOf(const BeginQueue::Entry &entry) {
  return entry.item ? static_cast<Named &>(*entry.item).name : "";
}

void push(BeginQueue &queue, TenantId tenant, const std::string &name,
          Time until = Time(0)) {
  queue.push({std::make_shared<Named>(name), tenant, until});
}

/// Takes all entries and returns their order; an entry takes `took` of its
/// tenant.
std::string order(BeginQueue &queue, std::map<TenantId, int> took) {
  std::string names;
  while (queue.hasNext(anyNumber)) {
    BeginQueue::Entry next = queue.takeNext(anyNumber);
    names += nameOf(next);
    queue.finished(next.tenant, Time(took[next.tenant]));
  }
  return names;
}

TEST(BeginQueueTest, TenantsHaveTheSameTimeNotTheSameNumber) {
  BeginQueue queue;
  for (const char *name : {"a", "b", "c", "d", "e", "f"})
    push(queue, 1, name);
  for (const char *name : {"1", "2"})
    push(queue, 2, name);
  // An entry of the second tenant takes three times as long.
  std::string names = order(queue, {{1, 10}, {2, 30}});
  EXPECT_EQ(names.size(), 8u);
  size_t first = names.find('1'), second = names.find('2');
  EXPECT_LE(first, 1u);
  EXPECT_GE(second - first, 3u);
  EXPECT_LE(second - first, 4u);
  EXPECT_TRUE(queue.empty());
}

TEST(BeginQueueTest, ANewcomerWaitsForNobodysPast) {
  BeginQueue queue;
  for (int i = 0; i < 100; ++i)
    push(queue, 1, "a");
  for (int i = 0; i < 50; ++i)
    queue.finished(queue.takeNext(anyNumber).tenant, Time(1000));
  push(queue, 2, "x");
  push(queue, 2, "y");
  // It does not get all of the time before it came, either.
  std::string names = order(queue, {{1, 1000}, {2, 1000}});
  EXPECT_EQ(names.find('x'), 0u);
  EXPECT_GE(names.find('y'), 1u);
  EXPECT_LE(names.find('y'), 3u);
}

/// Whoever sends one long request after the other does not come first because
/// it has none left in between.
TEST(BeginQueueTest, WhatOneHasUsedIsKeptWhileOthersWait) {
  BeginQueue queue;
  for (int i = 0; i < 20; ++i)
    push(queue, 2, "x");
  push(queue, 1, "a");
  std::string names;
  while (!queue.empty()) {
    BeginQueue::Entry next = queue.takeNext(anyNumber);
    names += nameOf(next);
    const bool isLong = next.tenant == 1;
    queue.finished(next.tenant, Time(isLong ? 1000 : 100));
    if (isLong && names.size() < 15)
      push(queue, 1, "a");
  }
  const size_t first = names.find('a'), second = names.find('a', first + 1);
  EXPECT_GE(second - first, 10u) << names;
}

TEST(BeginQueueTest, OneTenantHasSoManyUnderWayAtMost) {
  BeginQueue queue;
  push(queue, 1, "a");
  push(queue, 1, "b");
  push(queue, 2, "x");
  EXPECT_NE(nameOf(queue.takeNext(1)), nameOf(queue.takeNext(1)));
  EXPECT_FALSE(queue.hasNext(1));
  EXPECT_TRUE(queue.hasNext(2));
  queue.finished(1, Time(5));
  ASSERT_TRUE(queue.hasNext(1));
  EXPECT_EQ(nameOf(queue.takeNext(1)), "b");
}

TEST(BeginQueueTest, TheFirstExpiresFirst) {
  BeginQueue queue;
  EXPECT_EQ(queue.firstExpiry(), Time(0));
  push(queue, 1, "a", Time(10));
  push(queue, 2, "x", Time(20));
  EXPECT_EQ(queue.firstExpiry(), Time(10));
  EXPECT_EQ(nameOf(queue.takeExpired()), "a");
  EXPECT_EQ(queue.firstExpiry(), Time(20));
  EXPECT_EQ(queue.size(), 1);
}

TEST(BeginQueueTest, WhoHasTheMostGivesUpTheLast) {
  BeginQueue queue;
  EXPECT_EQ(nameOf(queue.takeFromMost(1)), "");
  for (const char *name : {"a", "b", "c"})
    push(queue, 1, name);
  EXPECT_EQ(nameOf(queue.takeFromMost(1)), "");
  push(queue, 2, "x");
  EXPECT_EQ(nameOf(queue.takeFromMost(2)), "c");
  EXPECT_EQ(nameOf(queue.takeFromMost(2)), ""); // 2 and 1 would become 1 and 2
  EXPECT_EQ(nameOf(queue.takeFromMost(3)), "b");
}

TEST(BeginQueueTest, WhatIsWithdrawnIsGone) {
  BeginQueue queue;
  auto item = std::make_shared<Named>("a");
  queue.push({item, 1, Time(0)});
  push(queue, 1, "b");
  EXPECT_EQ(nameOf(queue.withdraw(*item)), "a");
  EXPECT_EQ(nameOf(queue.withdraw(*item)), "");
  EXPECT_EQ(nameOf(queue.takeNext(anyNumber)), "b");
  queue.finished(1, Time(1));
  EXPECT_TRUE(queue.empty());
}

} // namespace
