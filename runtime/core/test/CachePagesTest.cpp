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
  pages.truncate(id, 50); // longer, so nothing changes
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

/// Any series of calls: each page belongs to one sequence or is free, the
/// lengths agree with a simple model, and pages that stay in use do not move.
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

TEST(CachePagesTest, AForkSharesFullPagesAndCopiesTheLast) {
  CachePages pages = make(5, 3, 160);
  SequenceId a = *pages.open();
  ASSERT_TRUE(pages.grow(a, 70).ok());
  Expected<CachePages::Fork> b = pages.fork(a, 40);
  ASSERT_TRUE(b);
  EXPECT_EQ(pages.length(b->sequence), 40);
  EXPECT_EQ(pages.pages(b->sequence)[0], pages.pages(a)[0]);
  ASSERT_TRUE(b->copy);
  EXPECT_EQ(b->copy->from, pages.pages(a)[1]);
  EXPECT_EQ(b->copy->to, pages.pages(b->sequence)[1]);
  EXPECT_EQ(pages.holders(pages.pages(a)[0]), 2);
  EXPECT_EQ(pages.holders(pages.pages(a)[1]), 1);
  EXPECT_EQ(pages.freePages(), 1);

  // At the start of a page there is nothing to copy, and no page is taken.
  Expected<CachePages::Fork> c = pages.fork(a, 64);
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->copy);
  EXPECT_EQ(pages.freePages(), 1);
  EXPECT_EQ(pages.holders(pages.pages(a)[0]), 3);

  // A page is free once it has no holder.
  pages.close(a);
  EXPECT_EQ(pages.freePages(), 2);
  pages.close(c->sequence);
  EXPECT_EQ(pages.freePages(), 3);
  pages.close(b->sequence);
  EXPECT_EQ(pages.freePages(), 5);
}

TEST(CachePagesTest, GrowingIntoASharedPageCopiesIt) {
  CachePages pages = make(4, 2, 128);
  SequenceId a = *pages.open();
  ASSERT_TRUE(pages.grow(a, 64).ok());
  SequenceId b = pages.fork(a, 64)->sequence;
  pages.truncate(b, 50);
  EXPECT_EQ(pages.holders(pages.pages(b)[1]), 2);
  int32_t shared = pages.pages(a)[1];
  EXPECT_EQ(pages.grow(b, 51).message(),
            "cache: sequence 1 shares page 1 and cannot grow without a copy of "
            "it");
  std::optional<PageCopy> copy;
  ASSERT_TRUE(
      pages.grow(b, 50, &copy).ok()); // no longer, so there is nothing to copy
  EXPECT_FALSE(copy);
  ASSERT_TRUE(pages.grow(b, 70, &copy).ok());
  EXPECT_EQ(copy, (PageCopy{shared, pages.pages(b)[1]}));
  EXPECT_EQ(pages.pages(a)[1], shared);
  EXPECT_EQ(pages.freePages(), 0);

  // The other sequence now holds its page alone and writes to it in place.
  pages.truncate(a, 40);
  copy.reset();
  ASSERT_TRUE(pages.grow(a, 41, &copy).ok());
  EXPECT_FALSE(copy);
  EXPECT_EQ(pages.pages(a)[1], shared);
}

TEST(CachePagesTest, RefusedForksChangeNothing) {
  CachePages pages = make(2, 2, 64);
  SequenceId a = *pages.open();
  ASSERT_TRUE(pages.grow(a, 64).ok());
  EXPECT_EQ(pages.fork(a, 33).status().message(),
            "cache: a fork of sequence 0 at 33 tokens needs a page and none is "
            "free");
  EXPECT_EQ(pages.openSequences(), 1);
  SequenceId b = pages.fork(a, 32)->sequence;
  EXPECT_FALSE(pages.fork(a, 32));
  EXPECT_EQ(pages.holders(pages.pages(a)[0]), 2);
  std::optional<PageCopy> copy;
  pages.truncate(b, 20);
  EXPECT_FALSE(pages.grow(b, 21, &copy).ok());
  EXPECT_FALSE(copy);
  EXPECT_EQ(pages.length(b), 20);
}

using Tokens = std::map<SequenceId, std::vector<int>>;

/// Checks that each sequence finds its own tokens in its pages, and that the
/// holders of all pages are right.
void expectOwnTokens(const CachePages &pages, int64_t count,
                     const Tokens &model, const std::vector<int> &memory) {
  constexpr int64_t pageTokens = CachePages::pageTokens;
  std::map<int32_t, int32_t> holders;
  for (auto &[sequence, tokens] : model) {
    std::span<const int32_t> table = pages.pages(sequence);
    ASSERT_EQ(pages.length(sequence), std::ssize(tokens));
    for (int32_t page : table)
      ++holders[page];
    for (int64_t at = 0; at < std::ssize(tokens); ++at)
      ASSERT_EQ(memory[table[at / pageTokens] * pageTokens + at % pageTokens],
                tokens[at]);
  }
  ASSERT_EQ(std::ssize(holders) + pages.freePages(), count);
  for (auto [page, holding] : holders)
    ASSERT_EQ(pages.holders(page), holding);
}

/// Any series of calls with forks. A model keeps the tokens of each sequence
/// and the content of each page slot, and makes the copies that it is told to.
/// Each sequence must find its own tokens in its pages, whatever the others
/// wrote.
TEST(CachePagesTest, ForkedSequencesNeverSeeEachOthersTokens) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    constexpr int64_t pageTokens = CachePages::pageTokens;
    int64_t count = 4 + random() % 30;
    CachePages pages = make(count, 6, 200);
    Tokens model;
    std::vector<int> memory(static_cast<size_t>(count * pageTokens), -1);
    auto make = [&](const PageCopy &copy) {
      std::copy_n(memory.begin() + copy.from * pageTokens, pageTokens,
                  memory.begin() + copy.to * pageTokens);
    };
    int next = 0;
    for (int call = 0; call < 150; ++call) {
      SequenceId id = static_cast<SequenceId>(random() % 6);
      bool open = model.contains(id);
      std::vector<int> *tokens = open ? &model[id] : nullptr;
      switch (random() % 6) {
      case 0:
        if (Expected<SequenceId> opened = pages.open())
          model[*opened] = {};
        break;
      case 1:
        if (open && random() % 2) {
          pages.close(id);
          model.erase(id);
        }
        break;
      case 2:
        if (open && !tokens->empty()) {
          int64_t length = random() % (tokens->size() + 1);
          if (Expected<CachePages::Fork> fork = pages.fork(id, length)) {
            if (fork->copy)
              make(*fork->copy);
            model[fork->sequence].assign(tokens->begin(),
                                         tokens->begin() + length);
          }
        }
        break;
      case 3:
        if (open) {
          int64_t length = random() % (tokens->size() + 1);
          pages.truncate(id, length);
          tokens->resize(static_cast<size_t>(length));
        }
        break;
      default:
        std::optional<PageCopy> copy;
        int64_t length = open ? tokens->size() + random() % 40 : 0;
        if (open && pages.grow(id, length, &copy).ok()) {
          if (copy)
            make(*copy);
          for (int64_t at = std::ssize(*tokens); at < length; ++at) {
            memory[pages.pages(id)[at / pageTokens] * pageTokens +
                   at % pageTokens] = next;
            tokens->push_back(next++);
          }
        }
        break;
      }
      expectOwnTokens(pages, count, model, memory);
      if (HasFatalFailure())
        return;
    }
    for (auto &[sequence, tokens] : model)
      pages.close(sequence);
    ASSERT_EQ(pages.freePages(), count);
    ASSERT_EQ(pages.openSequences(), 0);
  }
}

TEST(CachePagesTest, ARetainedPageOutlivesItsSequence) {
  CachePages pages = make(4, 3, 128);
  SequenceId a = *pages.open();
  ASSERT_TRUE(pages.grow(a, 70).ok());
  std::vector<int32_t> begin(pages.pages(a).begin(), pages.pages(a).end() - 1);
  for (int32_t page : begin)
    pages.retain(page);
  pages.retain(begin[0]);
  EXPECT_EQ(pages.holders(begin[0]), 3);
  EXPECT_EQ(pages.pagesOfSequences(), 3);
  pages.close(a);
  EXPECT_EQ(pages.pagesOfSequences(), 0);
  EXPECT_EQ(pages.freePages(), 2);

  SequenceId b = *pages.open(begin);
  EXPECT_EQ(pages.length(b), 64);
  EXPECT_TRUE(std::equal(begin.begin(), begin.end(), pages.pages(b).begin(),
                         pages.pages(b).end()));
  EXPECT_EQ(pages.pagesOfSequences(), 2);
  EXPECT_EQ(pages.freePages(), 2);
  ASSERT_TRUE(
      pages.grow(b, 65).ok()); // after the shared pages: nothing to copy
  pages.release(begin[1]);
  EXPECT_EQ(pages.holders(begin[1]), 1);
  pages.release(begin[0]);
  pages.close(b);
  EXPECT_EQ(pages.freePages(), 3);
  pages.release(begin[0]);
  EXPECT_EQ(pages.freePages(), 4);
}

/// A retained page is not written, just as a page of another sequence is not.
TEST(CachePagesTest, GrowingIntoARetainedPageCopiesIt) {
  CachePages pages = make(2, 1, 64);
  SequenceId a = *pages.open();
  ASSERT_TRUE(pages.grow(a, 32).ok());
  int32_t page = pages.pages(a)[0];
  pages.retain(page);
  pages.truncate(a, 20);
  std::optional<PageCopy> copy;
  ASSERT_TRUE(pages.grow(a, 21, &copy).ok());
  EXPECT_EQ(copy, (PageCopy{page, pages.pages(a)[0]}));
  EXPECT_EQ(pages.holders(page), 1);
  pages.release(page);
  EXPECT_EQ(pages.freePages(), 1);
  std::vector<int32_t> none;
  EXPECT_EQ(pages.open(none).status().message(),
            "cache: more than 1 open sequences");
}

/// Checks that the pages are held by the sequences and by retain() (`kept`),
/// and by nothing else.
void expectHolders(const CachePages &pages, int64_t count,
                   const std::vector<int32_t> &kept) {
  std::map<int32_t, int32_t> holders, sequences;
  for (SequenceId open = 0; open < 5; ++open)
    if (pages.isOpen(open))
      for (int32_t page : pages.pages(open)) {
        ++holders[page];
        ++sequences[page];
      }
  for (int32_t page : kept)
    ++holders[page];
  for (int32_t page = 0; page < count; ++page)
    ASSERT_EQ(pages.holders(page), holders[page]);
  std::erase_if(holders, [](auto &each) { return each.second == 0; });
  ASSERT_EQ(std::ssize(holders) + pages.freePages(), count);
  ASSERT_EQ(std::ssize(sequences), pages.pagesOfSequences());
}

/// Any series of all calls: the holders of a page are the sequences and the
/// calls of retain(), and a page without holders is free.
TEST(CachePagesTest, ReferencesAreCountedWhateverHappens) {
  std::mt19937 random(5);
  for (int round = 0; round < 80; ++round) {
    int64_t count = 3 + random() % 24;
    CachePages pages = make(count, 5, 200);
    std::vector<int32_t> kept; // each page as often as it is retained
    auto anyOpen = [&]() -> std::optional<SequenceId> {
      SequenceId id = static_cast<SequenceId>(random() % 5);
      return pages.isOpen(id) ? std::optional(id) : std::nullopt;
    };
    for (int call = 0; call < 300; ++call) {
      std::optional<SequenceId> id = anyOpen();
      std::optional<PageCopy> copy;
      switch (random() % 8) {
      case 0: {
        // The pages are those of a sequence, or pages that are only retained.
        std::vector<int32_t> begin;
        for (int32_t page : kept)
          if (begin.size() < 3 && random() % 2 &&
              std::ranges::find(begin, page) == begin.end())
            begin.push_back(page);
        (void)pages.open(begin);
        break;
      }
      case 1:
        if (id && random() % 2)
          pages.close(*id);
        break;
      case 2:
        if (id)
          (void)pages.fork(*id, random() % (pages.length(*id) + 1));
        break;
      case 3:
        if (id)
          pages.truncate(*id, random() % (pages.length(*id) + 1));
        break;
      case 4:
        if (id && !pages.pages(*id).empty()) {
          kept.push_back(pages.pages(*id)[random() % pages.pages(*id).size()]);
          pages.retain(kept.back());
        }
        break;
      case 5:
        if (!kept.empty()) {
          std::swap(kept[random() % kept.size()], kept.back());
          pages.release(kept.back());
          kept.pop_back();
        }
        break;
      default:
        if (id &&
            pages.grow(*id, pages.length(*id) + random() % 50, &copy).ok() &&
            copy) {
          EXPECT_GE(pages.holders(copy->from), 1);
          EXPECT_EQ(pages.holders(copy->to), 1);
        }
        break;
      }
      expectHolders(pages, count, kept);
      if (HasFatalFailure())
        return;
    }
  }
}

} // namespace
