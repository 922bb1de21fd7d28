//===- StackTableTest.cpp - tests of the stacks of a match ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/StackTable.h"

#include <gtest/gtest.h>

using namespace sluice::grammar;

namespace {

constexpr uint32_t none = StackTable::none;
using Edges = std::vector<StackTable::Edge>;

/// Adds an entry, which refers to its parents, and a reference to the entry.
uint32_t add(StackTable &table, const Edges &edges, uint32_t depth = 0) {
  uint64_t hash = StackTable::hashOf(edges);
  EXPECT_EQ(table.find(edges, hash), none);
  uint32_t stackEntry = table.insert(edges, hash, depth);
  for (StackTable::Edge edge : edges)
    if (edge.parent != none)
      table.addReference(edge.parent);
  table.addReference(stackEntry);
  EXPECT_EQ(table.find(edges, hash), stackEntry);
  return stackEntry;
}

TEST(StackTableTest, FindsEntriesByWhatTheyHold) {
  StackTable table;
  uint32_t base = add(table, {{1, none}});
  uint32_t one = add(table, {{2, base}}, 1);
  uint32_t both = add(table, {{2, base}, {3, base}}, 1);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_NE(one, both);
  Edges other{{3, base}};
  EXPECT_EQ(table.find(other, StackTable::hashOf(other)), none);
  EXPECT_EQ(table.slot(both).edge, (StackTable::Edge{2, base}));
  uint32_t second = table.slot(both).next;
  EXPECT_EQ(table.slot(second).edge, (StackTable::Edge{3, base}));
  EXPECT_EQ(table.slot(second).next, none);
  EXPECT_EQ(table.slot(both).depth, 1u);
}

TEST(StackTableTest, AnEntryGoesWithItsLastReference) {
  StackTable table;
  uint32_t base = add(table, {{1, none}});
  uint32_t top = add(table, {{2, base}, {3, base}});
  table.release(base); // the entry above holds it
  EXPECT_EQ(table.size(), 2u);
  table.addReference(top);
  table.release(top);
  EXPECT_EQ(table.size(), 2u);
  table.release(top);
  EXPECT_EQ(table.size(), 0u);
  Edges edges{{1, none}};
  EXPECT_EQ(table.find(edges, StackTable::hashOf(edges)), none);
}

TEST(StackTableTest, ReusesSlotsAndSurvivesGrowth) {
  StackTable table;
  for (int round = 0; round < 3; ++round) {
    uint32_t top = add(table, {{0, none}});
    uint32_t highest = 0;
    for (uint32_t i = 1; i < 100000; ++i) {
      uint32_t next = add(table, {{i, top}}, i);
      table.release(top); // held by the entry above
      top = next;
      highest = std::max(highest, top);
    }
    EXPECT_EQ(table.size(), 100000u);
    EXPECT_LT(highest, 100000u);
    table.release(top); // frees all entries, without recursion
    EXPECT_EQ(table.size(), 0u);
  }
}

TEST(StackTableTest, ClearForgetsEverything) {
  StackTable table;
  add(table, {{1, none}});
  table.clear();
  EXPECT_EQ(table.size(), 0u);
  add(table, {{1, none}});
  EXPECT_EQ(table.size(), 1u);
}

} // namespace
