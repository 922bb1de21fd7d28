//===- FairQueueingTest.cpp - fair queue priorities for tenants -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/FairQueueing.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace sluice;

namespace {

/// Requests with names and nothing but queue priorities.
struct Turns {
  FairQueueing fair;
  std::map<RequestNumber, std::pair<std::string, TenantNumber>> names;
  std::map<RequestNumber, QueuePriority> priorities;
  RequestNumber next = 0;
  Time virtualNow{0};

  RequestNumber add(const std::string &name, TenantNumber tenant,
                    int64_t ownTime = 0, double weight = 1) {
    std::vector<FairQueueing::Change> changes;
    RequestNumber number = next++;
    priorities[number] = fair.add(number, tenant, weight,
                                  {Time(ownTime), number}, virtualNow, changes);
    for (const FairQueueing::Change &change : changes) {
      EXPECT_EQ(names.at(change.number).second, tenant) << "another's";
      priorities.at(change.number) = change.queuePriority;
    }
    names[number] = {name, tenant};
    return number;
  }
  void remove(RequestNumber number) {
    fair.remove(number, names.at(number).second);
    priorities.erase(number);
  }
  /// Returns the names in the order of the queue priorities.
  std::string order() const {
    std::map<QueuePriority, std::string> sorted;
    for (const auto &[number, queuePriority] : priorities)
      sorted[queuePriority] = names.at(number).first;
    std::string all;
    for (const auto &[queuePriority, name] : sorted)
      all += name;
    return all;
  }
};

TEST(FairQueueingTest, OneTenantsComeAsTheyWouldAlone) {
  Turns priorities;
  priorities.add("b", 1, 20);
  priorities.add("c", 1, 30);
  priorities.add("a", 1, 10); // with priority
  priorities.add("d", 1, 40);
  EXPECT_EQ(priorities.order(), "abcd");
}

TEST(FairQueueingTest, ANewcomerIsAmongTheFirst) {
  Turns priorities;
  for (int i = 0; i < 100; ++i)
    priorities.add("a", 1, -1000000);
  priorities.add("x", 2);
  priorities.add("y", 2);
  EXPECT_EQ(priorities.order().substr(0, 4), "axay");
}

TEST(FairQueueingTest, TagsOfTenantsInterleaveByTheirWeights) {
  Turns priorities;
  for (int i = 0; i < 6; ++i)
    priorities.add("a", 1);
  for (int i = 0; i < 6; ++i)
    priorities.add("x", 2, 0, /*weight=*/2);
  EXPECT_EQ(priorities.order(), "axxaxxaxxaaa"); // the last two x at 2 and 2.5
}

TEST(FairQueueingTest, PriorityTakesATagFromOnesOwnAlone) {
  Turns priorities;
  RequestNumber first = priorities.add("a", 1, 10);
  priorities.add("x", 2, 10);
  priorities.add("b", 1, 20);
  priorities.add("y", 2, 20);
  EXPECT_EQ(priorities.order(), "axby");
  priorities.add("U", 1, -1000000000);
  EXPECT_EQ(priorities.order(), "xUayb");
  priorities.remove(first);
  EXPECT_EQ(priorities.order(), "xUyb");
}

TEST(FairQueueingTest, NobodySavesUpShares) {
  Turns priorities;
  RequestNumber running = priorities.add("a", 1);
  for (int i = 0; i < 5; ++i) {
    RequestNumber next = priorities.add("a", 1);
    priorities.remove(running);
    running = next;
    priorities.virtualNow = priorities.priorities.at(running).at;
  }
  // A tenant that was away begins with the other tenants, not before them.
  priorities.add("x", 2);
  priorities.add("a", 1);
  priorities.add("y", 2);
  EXPECT_EQ(priorities.order(), "axay");
}

} // namespace
