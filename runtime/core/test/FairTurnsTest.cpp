//===- FairTurnsTest.cpp - whose turn it is, fairly -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/FairTurns.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace sluice;

namespace {

/// Requests that have names, and nothing but their turns.
struct Turns {
  FairTurns fair;
  std::map<RequestNumber, std::pair<std::string, TenantNumber>> names;
  std::map<RequestNumber, Turn> turns;
  RequestNumber next = 0;
  Time virtualNow{0};

  RequestNumber add(const std::string &name, TenantNumber tenant,
                    int64_t ownTime = 0, double weight = 1) {
    std::vector<FairTurns::Change> changes;
    RequestNumber number = next++;
    turns[number] = fair.add(number, tenant, weight, {Time(ownTime), number},
                             virtualNow, changes);
    for (const FairTurns::Change &change : changes) {
      EXPECT_EQ(names.at(change.number).second, tenant) << "another's";
      turns.at(change.number) = change.turn;
    }
    names[number] = {name, tenant};
    return number;
  }
  void remove(RequestNumber number) {
    fair.remove(number, names.at(number).second);
    turns.erase(number);
  }
  /// Names in the order of their turns.
  std::string order() const {
    std::map<Turn, std::string> sorted;
    for (const auto &[number, turn] : turns)
      sorted[turn] = names.at(number).first;
    std::string all;
    for (const auto &[turn, name] : sorted)
      all += name;
    return all;
  }
};

TEST(FairTurnsTest, OneTenantsComeAsTheyWouldAlone) {
  Turns turns;
  turns.add("b", 1, 20);
  turns.add("c", 1, 30);
  turns.add("a", 1, 10); // with priority
  turns.add("d", 1, 40);
  EXPECT_EQ(turns.order(), "abcd");
}

TEST(FairTurnsTest, ANewcomerIsAmongTheFirst) {
  Turns turns;
  for (int i = 0; i < 100; ++i)
    turns.add("a", 1, -1000000);
  turns.add("x", 2);
  turns.add("y", 2);
  EXPECT_EQ(turns.order().substr(0, 4), "axay");
}

TEST(FairTurnsTest, TagsOfTenantsInterleaveByTheirWeights) {
  Turns turns;
  for (int i = 0; i < 6; ++i)
    turns.add("a", 1);
  for (int i = 0; i < 6; ++i)
    turns.add("x", 2, 0, /*weight=*/2);
  EXPECT_EQ(turns.order(), "axxaxxaxxaaa"); // the last two x at 2 and 2.5
}

TEST(FairTurnsTest, PriorityTakesATurnFromOnesOwnAlone) {
  Turns turns;
  RequestNumber first = turns.add("a", 1, 10);
  turns.add("x", 2, 10);
  turns.add("b", 1, 20);
  turns.add("y", 2, 20);
  EXPECT_EQ(turns.order(), "axby");
  turns.add("U", 1, -1000000000);
  EXPECT_EQ(turns.order(), "xUayb");
  turns.remove(first);
  EXPECT_EQ(turns.order(), "xUyb");
}

TEST(FairTurnsTest, NobodySavesUpTurns) {
  Turns turns;
  RequestNumber running = turns.add("a", 1);
  for (int i = 0; i < 5; ++i) {
    RequestNumber next = turns.add("a", 1);
    turns.remove(running);
    running = next;
    turns.virtualNow = turns.turns.at(running).at;
  }
  // Who has been away begins with the others, not before them.
  turns.add("x", 2);
  turns.add("a", 1);
  turns.add("y", 2);
  EXPECT_EQ(turns.order(), "axay");
}

} // namespace
