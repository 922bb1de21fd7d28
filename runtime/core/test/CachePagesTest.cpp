//===- CachePagesTest.cpp - pages are held once and given back ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace sluice;

namespace {

CachePages make(int64_t pages, int64_t sequences, int64_t tokens) {
  Expected<CachePages> made = CachePages::create({pages, sequences, tokens});
  EXPECT_TRUE(made) << made.status().message();
  return made.take();
}

TEST(CachePagesTest, GrowsByWholePages) {
  CachePages pages = make(4, 2, 100);
  SequenceId id = *pages.open();
  EXPECT_EQ(pages.pages(id).size(), 0u);
  ASSERT_TRUE(pages.grow(id, 1).ok());
  EXPECT_EQ(pages.pages(id).size(), 1u);
  ASSERT_TRUE(pages.grow(id, 32).ok());
  EXPECT_EQ(pages.pages(id).size(), 1u);
  ASSERT_TRUE(pages.grow(id, 33).ok());
  EXPECT_EQ(pages.pages(id).size(), 2u);
  EXPECT_EQ(pages.length(id), 33);
  EXPECT_EQ(pages.freePages(), 2);
}

TEST(CachePagesTest, TruncateKeepsThePagesInUse) {
  CachePages pages = make(4, 1, 128);
  SequenceId id = *pages.open();
  ASSERT_TRUE(pages.grow(id, 100).ok());
  int32_t first = pages.pages(id)[0];
  pages.truncate(id, 32);
  EXPECT_EQ(pages.pages(id).size(), 1u);
  EXPECT_EQ(pages.pages(id)[0], first);
  EXPECT_EQ(pages.freePages(), 3);
  pages.truncate(id, 50); // longer: nothing
  EXPECT_EQ(pages.length(id), 32);
  pages.truncate(id, 0);
  EXPECT_EQ(pages.freePages(), 4);
}

TEST(CachePagesTest, RefusalsChangeNothing) {
  CachePages pages = make(3, 2, 90);
  SequenceId a = *pages.open();
  SequenceId b = *pages.open();
  EXPECT_FALSE(pages.open());
  ASSERT_TRUE(pages.grow(a, 40).ok());
  Status status = pages.grow(b, 64);
  EXPECT_EQ(status.message(),
            "cache: sequence 1 needs 2 more pages of 32 tokens and 1 are free");
  EXPECT_EQ(pages.length(b), 0);
  EXPECT_EQ(pages.freePages(), 1);
  EXPECT_EQ(pages.grow(a, 91).message(),
            "cache: sequence 0: 91 tokens is more than the limit of 90");
  EXPECT_EQ(pages.length(a), 40);
}

TEST(CachePagesTest, LimitsAreChecked) {
  EXPECT_FALSE(CachePages::create({0, 1, 1}));
  EXPECT_FALSE(CachePages::create({1, 0, 1}));
  EXPECT_FALSE(CachePages::create({1, 1, 0}));
  EXPECT_FALSE(CachePages::create({int64_t{1} << 40, 1, 1}));
  EXPECT_FALSE(CachePages::create({1 << 29, 1 << 20, int64_t{1} << 62}));
  // A context longer than the cache is cut to it, not refused.
  EXPECT_EQ(make(2, 1, int64_t{1} << 62).limits().tokensPerSequence, 64);
}

/// Any series of calls: each page belongs to one sequence or is free, a model
/// of plain lengths agrees, and pages that stay in use do not move.
TEST(CachePagesTest, AnySeriesOfCallsKeepsPagesApart) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    int64_t count = 1 + random() % 20;
    CachePages pages = make(count, 5, 300);
    std::map<SequenceId, int64_t> model;
    for (int call = 0; call < 200; ++call) {
      SequenceId id = static_cast<SequenceId>(random() % 5);
      int64_t length = random() % 310;
      std::vector<int32_t> before;
      if (pages.isOpen(id))
        before.assign(pages.pages(id).begin(), pages.pages(id).end());
      switch (random() % 4) {
      case 0:
        if (Expected<SequenceId> opened = pages.open()) {
          ASSERT_FALSE(model.contains(*opened));
          model[*opened] = 0;
        } else {
          ASSERT_EQ(model.size(), 5u);
        }
        break;
      case 1:
        if (model.erase(id))
          pages.close(id);
        break;
      case 2:
        if (model.contains(id) && length >= model[id] &&
            pages.grow(id, length).ok())
          model[id] = length;
        break;
      case 3:
        if (model.contains(id)) {
          pages.truncate(id, length);
          model[id] = std::min(model[id], length);
        }
        break;
      }
      std::set<int32_t> held;
      for (auto [open, tokens] : model) {
        ASSERT_EQ(pages.length(open), tokens);
        ASSERT_EQ(static_cast<int64_t>(pages.pages(open).size()),
                  CachePages::pagesFor(tokens));
        for (int32_t page : pages.pages(open)) {
          ASSERT_TRUE(page >= 0 && page < count);
          ASSERT_TRUE(held.insert(page).second);
        }
      }
      ASSERT_EQ(static_cast<int64_t>(held.size()) + pages.freePages(), count);
      if (model.contains(id)) {
        auto now = pages.pages(id);
        size_t common = std::min(before.size(), now.size());
        ASSERT_TRUE(
            std::equal(now.begin(), now.begin() + common, before.begin()));
      }
    }
    ASSERT_EQ(pages.openSequences(), static_cast<int64_t>(model.size()));
  }
}

} // namespace
