//===- PageLedgerTest.cpp - the head's account of cache pages -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PageLedger.h"

#include "runtime/core/CachePages.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace sluice;

namespace {

constexpr int64_t pageTokens = CachePages::pageTokens;
using Text = std::vector<int32_t>;

Text count(int64_t tokens, int32_t first = 0) {
  Text text;
  for (int64_t i = 0; i < tokens; ++i)
    text.push_back(first + static_cast<int32_t>(i));
  return text;
}

std::span<const int32_t> pageOf(const Text &text, int64_t index) {
  return std::span(text).subspan(static_cast<size_t>(index * pageTokens),
                                 pageTokens);
}

struct Orders {
  std::vector<PinPage> pins;
  std::vector<SharedPage> unpins;
};

Orders take(PageLedger &ledger) {
  Orders orders;
  ledger.takeOrders(orders.pins, orders.unpins);
  return orders;
}

//===----------------------------------------------------------------------===//
// Single cases
//===----------------------------------------------------------------------===//

TEST(PageLedgerTest, ARequestHasThePagesOfItsTokensAndNoMore) {
  PageLedger ledger({.pages = 4, .requests = 2, .sharesPrefixes = false});
  EXPECT_TRUE(ledger.open(0, count(33), 0));
  EXPECT_EQ(ledger.available(), 2);
  EXPECT_TRUE(ledger.grow(0, 64));
  EXPECT_EQ(ledger.available(), 2);
  EXPECT_TRUE(ledger.grow(0, 65));
  EXPECT_EQ(ledger.available(), 1);
  EXPECT_FALSE(ledger.open(1, count(33), 0));
  EXPECT_FALSE(ledger.open(1, count(1), 1)) << "one is to be left";
  EXPECT_TRUE(ledger.open(1, count(1), 0));
  EXPECT_FALSE(ledger.grow(0, 97));
  EXPECT_TRUE(ledger.grow(0, 96));
  ledger.close(1);
  EXPECT_TRUE(ledger.grow(0, 97));
  ledger.close(0);
  EXPECT_EQ(ledger.available(), 4);
}

TEST(PageLedgerTest, AFullPageIsPinnedAndTheNextRequestBeginsWithIt) {
  PageLedger ledger({.pages = 8, .requests = 2});
  Text text = count(70);
  ASSERT_TRUE(ledger.open(0, text, 0));
  EXPECT_EQ(ledger.prefixPages(0), 0);
  ledger.pin(0, pageOf(text, 0), 69);
  ledger.pin(0, pageOf(text, 1), 69);
  EXPECT_EQ(ledger.pinnedPages(0), 2);
  Orders orders = take(ledger);
  EXPECT_TRUE(orders.unpins.empty());
  ASSERT_EQ(orders.pins.size(), 2u);
  EXPECT_EQ(orders.pins[1].request, 0);
  EXPECT_EQ(orders.pins[1].node, 69);
  EXPECT_EQ(orders.pins[1].index, 1);
  ledger.close(0);
  EXPECT_EQ(ledger.available(), 8);
  EXPECT_EQ(ledger.pinned(), 2);
  ASSERT_TRUE(ledger.open(1, text, 0));
  ASSERT_EQ(ledger.prefixPages(1), 2);
  std::vector<SharedPage> prefix(2);
  ledger.prefixOf(1, prefix);
  EXPECT_EQ(prefix[0], orders.pins[0].page);
  EXPECT_EQ(prefix[1], orders.pins[1].page);
  EXPECT_EQ(ledger.available(), 5);
  EXPECT_EQ(ledger.queriedTokens(), 140);
  EXPECT_EQ(ledger.foundTokens(), 64);
}

TEST(PageLedgerTest, OtherScopesShareNothing) {
  PageLedger ledger({.pages = 16, .requests = 4});
  Text text = count(70);
  for (uint64_t scope : {0, 7}) {
    ASSERT_TRUE(ledger.open(0, {text, scope}, 0));
    EXPECT_EQ(ledger.prefixPages(0), 0);
    ledger.pin(0, pageOf(text, 0), 69);
    ledger.pin(0, pageOf(text, 1), 69);
    take(ledger);
    ledger.close(0);
    EXPECT_EQ(ledger.pinnedPages({text, scope}), 2);
    EXPECT_EQ(ledger.pinnedPages({text, scope + 1}), 0);
  }
  EXPECT_EQ(ledger.pinned(), 4);
  ASSERT_TRUE(ledger.open(0, {text, 7}, 0));
  EXPECT_EQ(ledger.prefixPages(0), 2);
  ASSERT_TRUE(ledger.open(1, {text, 8}, 0));
  EXPECT_EQ(ledger.prefixPages(1), 0);
}

TEST(PageLedgerTest, TheLastTokensRowIsComputedWhateverIsPinned) {
  PageLedger ledger({.pages = 8, .requests = 2});
  Text text = count(64);
  ASSERT_TRUE(ledger.open(0, text, 0));
  ledger.pin(0, pageOf(text, 0), 63);
  ledger.pin(0, pageOf(text, 1), 63);
  ASSERT_TRUE(ledger.open(1, text, 0));
  EXPECT_EQ(ledger.prefixPages(1), 1);
}

TEST(PageLedgerTest, WhatIsPinnedGivesWayAndTheStagesAreTold) {
  PageLedger ledger({.pages = 3, .requests = 2});
  Text text = count(64);
  ASSERT_TRUE(ledger.open(0, text, 0));
  ledger.pin(0, pageOf(text, 0), 63);
  ledger.pin(0, pageOf(text, 1), 63);
  SharedPage second = take(ledger).pins[1].page;
  ledger.close(0);
  ASSERT_TRUE(ledger.open(1, count(64, 500), 0));
  // The page at the end of the text is evicted first.
  EXPECT_EQ(take(ledger).unpins, std::vector<SharedPage>{second});
  EXPECT_EQ(ledger.pinned(), 1);
}

TEST(PageLedgerTest, WhatNobodyHasHeardOfIsTakenBack) {
  PageLedger ledger({.pages = 2, .requests = 2});
  Text text = count(64);
  ASSERT_TRUE(ledger.open(0, text, 0));
  ledger.pin(0, pageOf(text, 0), 63);
  ledger.close(0);
  ASSERT_TRUE(ledger.open(1, count(64, 500), 0));
  Orders orders = take(ledger);
  EXPECT_TRUE(orders.pins.empty());
  EXPECT_TRUE(orders.unpins.empty());
}

TEST(PageLedgerTest, WhatARequestBeginsWithDoesNotGiveWayToItself) {
  PageLedger ledger({.pages = 3, .requests = 2});
  Text text = count(96);
  ASSERT_TRUE(ledger.open(0, count(64), 0));
  ledger.pin(0, pageOf(text, 0), 63);
  ledger.pin(0, pageOf(text, 1), 63);
  ledger.close(0);
  take(ledger);
  EXPECT_FALSE(ledger.open(1, count(97), 0));
  EXPECT_EQ(ledger.available(), 3);
  EXPECT_TRUE(ledger.open(1, text, 0));
  EXPECT_EQ(ledger.prefixPages(1), 2);
  EXPECT_EQ(ledger.available(), 0);
}

TEST(PageLedgerTest, KnowsWhoBeginsWithWhatIsOnlyBeingPinned) {
  PageLedger ledger({.pages = 8, .requests = 3});
  Text text = count(70);
  ASSERT_TRUE(ledger.open(0, text, 0));
  ledger.pin(0, pageOf(text, 0), 69);
  Orders orders = take(ledger);
  ASSERT_TRUE(ledger.open(1, text, 0));
  ASSERT_TRUE(ledger.open(2, count(70, 500), 0));
  EXPECT_TRUE(ledger.beginsWithAny(1, orders.pins));
  EXPECT_FALSE(ledger.beginsWithAny(1, {}));
  EXPECT_FALSE(ledger.beginsWithAny(2, orders.pins));
}

//===----------------------------------------------------------------------===//
// Compared with pages that are counted one by one
//===----------------------------------------------------------------------===//

/// A stage's cache that carries out the ledger's orders: physical pages with
/// counts of their holders.
class Cache {
public:
  struct Request {
    Text text;
    std::vector<int64_t> pages;
  };
  struct Pinned {
    Text text; ///< from the start of the text to the end of this page
    int64_t page = 0;
  };

  void unpin(SharedPage name) {
    ASSERT_TRUE(pinned.contains(name)) << "dropped, and not pinned";
    pinned.erase(name);
  }
  void pin(const PinPage &order) {
    ASSERT_FALSE(pinned.contains(order.page)) << "pinned twice";
    const Request &request = requests.at(order.request);
    ASSERT_LT(order.index, std::ssize(request.pages));
    auto tokens = (order.index + 1) * pageTokens;
    ASSERT_LE(tokens, std::ssize(request.text));
    pinned[order.page] = {
        Text(request.text.begin(), request.text.begin() + tokens),
        request.pages[static_cast<size_t>(order.index)]};
  }
  void open(RequestId id, const Text &text,
            std::span<const SharedPage> prefix) {
    Request &request = requests[id];
    request.text = text;
    for (SharedPage name : prefix) {
      ASSERT_TRUE(pinned.contains(name));
      const Pinned &page = pinned.at(name);
      ASSERT_TRUE(std::equal(page.text.begin(), page.text.end(), text.begin()));
      request.pages.push_back(page.page);
    }
    fill(request);
  }
  void grow(RequestId id, const Text &text) {
    requests.at(id).text = text;
    fill(requests.at(id));
  }
  void close(RequestId id) { requests.erase(id); }

  /// Returns how many pages requests use or are pinned.
  int64_t inUse() const {
    std::set<int64_t> pages = ofRequests();
    for (const auto &[name, each] : pinned)
      pages.insert(each.page);
    return std::ssize(pages);
  }
  std::set<int64_t> ofRequests() const {
    std::set<int64_t> pages;
    for (const auto &[id, request] : requests)
      pages.insert(request.pages.begin(), request.pages.end());
    return pages;
  }
  /// Returns the pages of the longest pinned prefix of `text`.
  std::vector<SharedPage> known(const Text &text, int64_t max) const {
    std::map<int64_t, SharedPage> byLength;
    for (const auto &[name, each] : pinned)
      if (each.text.size() <= text.size() &&
          std::equal(each.text.begin(), each.text.end(), text.begin()))
        byLength[std::ssize(each.text) / pageTokens] = name;
    std::vector<SharedPage> found;
    for (int64_t page = 1; page <= max && byLength.contains(page); ++page)
      found.push_back(byLength[page]);
    return found;
  }

  std::map<RequestId, Request> requests;
  std::map<SharedPage, Pinned> pinned;

private:
  void fill(Request &request) {
    while (std::ssize(request.pages) * pageTokens < std::ssize(request.text))
      request.pages.push_back(next++);
  }
  int64_t next = 0;
};

class Load {
public:
  Load(uint64_t seed, bool ordersAtOnce)
      : random(seed), ordersAtOnce(ordersAtOnce), pages(upTo(6, 24)),
        ledger({pages, requests, true}) {}

  void step() {
    auto id = static_cast<RequestId>(upTo(0, requests - 1));
    if (!texts.contains(id))
      open(id);
    else if (upTo(0, 9) == 0)
      close(id);
    else if (opening.contains(id))
      sync();
    else if (upTo(0, 2) == 0)
      pin(id);
    else
      grow(id);
    if (ordersAtOnce || upTo(0, 3) == 0)
      sync();
  }
  void end() {
    while (!texts.empty())
      close(texts.begin()->first);
    sync();
    ASSERT_EQ(ledger.available(), pages);
  }
  int64_t refused = 0, hits = 0, dropped = 0;

private:
  static constexpr int64_t requests = 4;

  int64_t upTo(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() %
                                      static_cast<uint64_t>(high - low + 1));
  }
  /// Returns texts with equal prefixes: pages of one of two kinds, and a tail.
  Text randomText() {
    Text text;
    for (int64_t remaining = upTo(0, 4); remaining > 0; --remaining)
      text.insert(text.end(), pageTokens, static_cast<int32_t>(upTo(1, 2)));
    text.insert(text.end(), static_cast<size_t>(upTo(1, 40)), 1);
    return text;
  }
  /// Returns the pinned pages that a request uses: those of its own prefix, as
  /// far as the ledger knows it.
  std::set<SharedPage> pinnedBy(RequestId id) const {
    std::vector<SharedPage> path =
        cache.known(texts.at(id), ledger.pinnedPages(id));
    return {path.begin(), path.end()};
  }
  std::set<SharedPage> pinned() const {
    std::set<SharedPage> all;
    for (const auto &[id, text] : texts)
      all.merge(pinnedBy(id));
    return all;
  }
  /// Returns the pages that no request needs, counted one by one.
  int64_t available() const {
    std::set<int64_t> used = cache.ofRequests();
    for (SharedPage name : pinned())
      used.insert(cache.pinned.at(name).page);
    return pages - std::ssize(used);
  }

  void open(RequestId id) {
    Text text = randomText();
    int64_t spare = upTo(0, 2);
    bool fits = true;
    if (ordersAtOnce) {
      int64_t max = (std::ssize(text) - 1) / pageTokens;
      std::vector<SharedPage> known = cache.known(text, max);
      std::set<SharedPage> inUse = pinned();
      int64_t idle =
          std::count_if(known.begin(), known.end(),
                        [&](SharedPage name) { return !inUse.contains(name); });
      fits =
          CachePages::pagesFor(std::ssize(text)) - std::ssize(known) + spare <=
          available() - idle;
      hits += fits && !known.empty();
      ASSERT_EQ(ledger.open(id, text, spare), fits);
      if (fits)
        ASSERT_EQ(ledger.prefixPages(id), std::ssize(known));
    } else {
      fits = ledger.open(id, text, spare);
    }
    refused += !fits;
    if (!fits)
      return;
    texts[id] = text;
    opening.insert(id);
  }
  void grow(RequestId id) {
    Text &text = texts.at(id);
    int64_t tokens = std::ssize(text) + upTo(1, 20);
    int64_t more =
        CachePages::pagesFor(tokens) - CachePages::pagesFor(std::ssize(text));
    bool fits = ledger.grow(id, tokens);
    if (ordersAtOnce)
      ASSERT_EQ(fits, more <= available());
    refused += !fits;
    if (fits)
      text.resize(static_cast<size_t>(tokens), 1);
  }
  void pin(RequestId id) {
    int64_t pinned = ledger.pinnedPages(id);
    const Text &text = texts.at(id);
    if ((pinned + 1) * pageTokens > std::ssize(text))
      return;
    ledger.pin(id, pageOf(text, pinned), std::ssize(text) - 1);
    ASSERT_EQ(ledger.pinnedPages(id), pinned + 1);
  }
  void close(RequestId id) {
    sync(); // the frame with the close takes the orders along
    ledger.close(id);
    texts.erase(id);
    cache.close(id);
    if (ordersAtOnce)
      sync();
  }

  /// Makes a frame that unpins, opens, computes rows and pins. Its combined
  /// orders fit the cache.
  void sync() {
    Orders orders;
    ledger.takeOrders(orders.pins, orders.unpins);
    dropped += std::ssize(orders.unpins);
    for (SharedPage page : orders.unpins)
      cache.unpin(page);
    // A request that begins with pages that are pinned only now opens with the
    // next frame.
    std::set<RequestId> later;
    for (RequestId id : opening)
      if (ledger.beginsWithAny(id, orders.pins))
        later.insert(id);
      else
        openAtStage(id);
    for (const auto &[id, text] : texts)
      if (!opening.contains(id))
        cache.grow(id, text);
    for (const PinPage &order : orders.pins)
      cache.pin(order);
    for (RequestId id : later)
      openAtStage(id);
    opening.clear();
    check();
  }
  void openAtStage(RequestId id) {
    std::vector<SharedPage> prefix(static_cast<size_t>(ledger.prefixPages(id)));
    ledger.prefixOf(id, prefix);
    cache.open(id, texts.at(id), prefix);
  }
  void check() {
    ASSERT_EQ(ledger.pinned(), std::ssize(cache.pinned));
    ASSERT_LE(cache.inUse(), pages) << "a stage has run out";
    ASSERT_EQ(ledger.available(), available());
    for (const auto &[id, request] : cache.requests)
      ASSERT_EQ(std::ssize(request.pages),
                CachePages::pagesFor(std::ssize(request.text)));
  }

  std::mt19937_64 random;
  bool ordersAtOnce;
  int64_t pages;
  PageLedger ledger;
  Cache cache;
  std::map<RequestId, Text> texts; ///< as far as the ledger knows them
  std::set<RequestId> opening;     ///< not opened at the stage yet
};

void runLoads(bool ordersAtOnce) {
  int64_t refused = 0, hits = 0, dropped = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Load load(seed, ordersAtOnce);
    for (int i = 0; i < 300 && !testing::Test::HasFatalFailure(); ++i)
      load.step();
    load.end();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    refused += load.refused;
    hits += load.hits;
    dropped += load.dropped;
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(dropped, 500);
  if (ordersAtOnce)
    EXPECT_GT(hits, 500);
}

TEST(PageLedgerTest, CountsAsACacheWithPagesOneByOne) {
  runLoads(/*ordersAtOnce=*/true);
}

// Frames leave now and then, and carry what was decided since the last one.
TEST(PageLedgerTest, OrdersFitTogetherHoweverSeldomFramesLeave) {
  runLoads(/*ordersAtOnce=*/false);
}

} // namespace
