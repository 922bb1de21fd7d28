//===- PrefixTreeTest.cpp - a radix tree of pinned prefixes ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PrefixTree.h"

#include "runtime/core/CachePages.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace sluice;

namespace {

constexpr SharedPage root = PrefixTree::root;
using Text = std::vector<int32_t>;

/// Returns a page of tokens; pages of different kinds differ in one place.
Text pageOf(int32_t kind) {
  Text page(CachePages::pageTokens, 7);
  page[static_cast<size_t>(kind) * 11 % page.size()] = 100 + kind;
  return page;
}

Text textOf(std::initializer_list<int32_t> kinds) {
  Text text;
  for (int32_t kind : kinds) {
    Text page = pageOf(kind);
    text.insert(text.end(), page.begin(), page.end());
  }
  return text;
}

std::vector<SharedPage> pathTo(const PrefixTree &tree, SharedPage node) {
  std::vector<SharedPage> path(static_cast<size_t>(tree.depth(node)));
  tree.pathTo(node, path);
  return path;
}

TEST(PrefixTreeTest, FindsTheLongestKnownPrefix) {
  PrefixTree tree(8);
  EXPECT_EQ(tree.find(textOf({1, 2}), 2), root);
  SharedPage one = tree.insert(root, pageOf(1)).node;
  tree.pin(one);
  SharedPage two = tree.insert(one, pageOf(2)).node;
  EXPECT_EQ(tree.find(textOf({1}), 9), one);
  EXPECT_EQ(tree.find(textOf({1, 2, 3}), 9), two);
  EXPECT_EQ(tree.find(textOf({1, 3}), 9), one);
  EXPECT_EQ(tree.find(textOf({2, 1}), 9), root);
  // The search returns no more pages than asked for, and only full ones.
  EXPECT_EQ(tree.find(textOf({1, 2, 3}), 1), one);
  EXPECT_EQ(tree.find(textOf({1, 2, 3}), 0), root);
  Text text = textOf({1, 2});
  text.pop_back();
  EXPECT_EQ(tree.find(text, 9), one);
  EXPECT_EQ(tree.find({}, 9), root);
  EXPECT_EQ(tree.depth(two), 2);
  EXPECT_EQ(tree.depth(root), 0);
  EXPECT_EQ(pathTo(tree, two), (std::vector<SharedPage>{one, two}));
}

TEST(PrefixTreeTest, TheSamePageBehindOthersIsAnotherNode) {
  PrefixTree tree(8);
  PrefixTree::Insertion one = tree.insert(root, pageOf(1));
  EXPECT_TRUE(one.isNew);
  tree.pin(one.node);
  PrefixTree::Insertion again = tree.insert(root, pageOf(1));
  EXPECT_FALSE(again.isNew);
  EXPECT_EQ(again.node, one.node);
  PrefixTree::Insertion behind = tree.insert(one.node, pageOf(1));
  EXPECT_TRUE(behind.isNew);
  EXPECT_NE(behind.node, one.node);
  EXPECT_EQ(tree.size(), 2);
}

TEST(PrefixTreeTest, WhatIsInUseStaysAndWhatIsBeforeItToo) {
  PrefixTree tree(8);
  SharedPage one = tree.insert(root, pageOf(1)).node;
  tree.pin(one);
  SharedPage two = tree.insert(one, pageOf(2)).node;
  tree.pin(two);
  tree.unpin(one);
  EXPECT_EQ(tree.evictable(), 0);
  EXPECT_EQ(tree.evict(), std::nullopt);
  // A node that was pinned twice must be unpinned twice.
  tree.pin(two);
  tree.unpin(two);
  EXPECT_EQ(tree.evict(), std::nullopt);
  tree.unpin(two);
  EXPECT_EQ(tree.evictable(), 2);
  // A node is evicted before its parent.
  EXPECT_EQ(tree.evict(), two);
  EXPECT_EQ(tree.evict(), one);
  EXPECT_EQ(tree.evict(), std::nullopt);
  EXPECT_EQ(tree.size(), 0);
}

TEST(PrefixTreeTest, TheLeastRecentlyUsedGoesFirst) {
  PrefixTree tree(8);
  std::vector<SharedPage> nodes;
  for (int32_t kind : {1, 2, 3})
    nodes.push_back(tree.insert(root, pageOf(kind)).node);
  tree.pin(nodes[0]);
  tree.unpin(nodes[0]);
  EXPECT_EQ(tree.evict(), nodes[1]);
  EXPECT_EQ(tree.evict(), nodes[2]);
  EXPECT_EQ(tree.evict(), nodes[0]);
  // Its number is used again.
  SharedPage next = tree.insert(root, pageOf(4)).node;
  EXPECT_EQ(tree.find(textOf({4}), 1), next);
  EXPECT_EQ(tree.find(textOf({1}), 1), root);
}

TEST(PrefixTreeTest, HoldsAsManyNodesAsPages) {
  PrefixTree tree(2);
  tree.insert(root, pageOf(1));
  tree.insert(root, pageOf(2));
  EXPECT_EQ(tree.size(), 2);
  EXPECT_TRUE(tree.evict());
  EXPECT_TRUE(tree.insert(root, pageOf(3)).isNew);
  PrefixTree none(0);
  EXPECT_EQ(none.find(textOf({1}), 1), root);
  EXPECT_EQ(none.evict(), std::nullopt);
}

/// A simple model that goes over everything: whole prefixes as keys, counted
/// uses, and the time of each last use.
class Model {
public:
  struct Node {
    Text text;
    SharedPage parent = root;
    int64_t pins = 0;
    uint64_t lastUse = 0;
  };

  SharedPage find(const Text &text, int64_t max) const {
    SharedPage best = root;
    for (const auto &[number, node] : nodes)
      if (std::ssize(node.text) <= max * CachePages::pageTokens &&
          node.text.size() <= text.size() &&
          std::equal(node.text.begin(), node.text.end(), text.begin()) &&
          (best == root || node.text.size() > nodes.at(best).text.size()))
        best = number;
    return best;
  }
  void add(SharedPage number, SharedPage parent, const Text &page) {
    Text text = parent == root ? Text() : nodes.at(parent).text;
    text.insert(text.end(), page.begin(), page.end());
    nodes[number] = {std::move(text), parent, 0, ++uses};
  }
  void pin(SharedPage number) { ++nodes.at(number).pins; }
  /// A use of a node counts for all nodes before it, which are used last.
  void unpin(SharedPage number) {
    --nodes.at(number).pins;
    for (; number != root; number = nodes.at(number).parent)
      nodes.at(number).lastUse = ++uses;
  }
  bool inUse(SharedPage number) const {
    const Text &text = nodes.at(number).text;
    for (const auto &[other, node] : nodes)
      if (node.pins > 0 && node.text.size() >= text.size() &&
          std::equal(text.begin(), text.end(), node.text.begin()))
        return true;
    return false;
  }
  std::optional<SharedPage> oldest() const {
    std::optional<SharedPage> found;
    for (const auto &[number, node] : nodes)
      if (!inUse(number) && (!found || node.lastUse < nodes.at(*found).lastUse))
        found = number;
    return found;
  }
  bool isFollowed(SharedPage number) const {
    for (const auto &[other, node] : nodes)
      if (node.parent == number)
        return true;
    return false;
  }
  int64_t idle() const {
    int64_t count = 0;
    for (const auto &[number, node] : nodes)
      count += !inUse(number);
    return count;
  }

  std::map<SharedPage, Node> nodes;

private:
  uint64_t uses = 0;
};

class Walk {
public:
  Walk(uint64_t seed, int64_t pages)
      : random(seed), pages(pages), tree(pages) {}

  void step() {
    switch (random() % 6) {
    case 0:
    case 1:
      return insert();
    case 2:
      return pin();
    case 3:
      return unpin();
    case 4:
      return find();
    case 5:
      return evict();
    }
  }
  void check() {
    ASSERT_EQ(tree.size(), std::ssize(model.nodes));
    ASSERT_EQ(tree.evictable(), model.idle());
    for (const auto &[number, node] : model.nodes) {
      ASSERT_EQ(tree.parent(number), node.parent);
      ASSERT_EQ(tree.depth(number) * CachePages::pageTokens,
                std::ssize(node.text));
    }
  }
  /// Unpins everything; then all of it can be evicted.
  void end() {
    while (!pinned.empty()) {
      tree.unpin(pinned.back());
      model.unpin(pinned.back());
      pinned.pop_back();
    }
    check();
    while (tree.size() > 0)
      evict();
    ASSERT_EQ(tree.evict(), std::nullopt);
  }
  int64_t evictions = 0;

private:
  SharedPage any() {
    auto at = model.nodes.begin();
    std::advance(at, static_cast<int64_t>(random() % model.nodes.size()));
    return at->first;
  }
  void insert() {
    SharedPage parent = root;
    if (!model.nodes.empty() && random() % 4 != 0)
      parent = any();
    if (parent != root && !model.inUse(parent))
      return;
    Text page = pageOf(static_cast<int32_t>(random() % 3));
    Text text = parent == root ? Text() : model.nodes.at(parent).text;
    text.insert(text.end(), page.begin(), page.end());
    SharedPage known = model.find(text, pages);
    bool isKnown =
        known != root && model.nodes.at(known).text.size() == text.size();
    if (!isKnown && std::ssize(model.nodes) == pages)
      return;
    PrefixTree::Insertion added = tree.insert(parent, page);
    ASSERT_EQ(added.isNew, !isKnown);
    if (isKnown) {
      ASSERT_EQ(added.node, known);
    } else {
      ASSERT_FALSE(model.nodes.contains(added.node));
      model.add(added.node, parent, page);
    }
  }
  void pin() {
    if (model.nodes.empty())
      return;
    pinned.push_back(any());
    tree.pin(pinned.back());
    model.pin(pinned.back());
  }
  void unpin() {
    if (pinned.empty())
      return;
    std::swap(pinned[random() % pinned.size()], pinned.back());
    tree.unpin(pinned.back());
    model.unpin(pinned.back());
    pinned.pop_back();
  }
  void find() {
    Text text;
    for (uint64_t remaining = random() % 6; remaining > 0; --remaining) {
      Text page = pageOf(static_cast<int32_t>(random() % 3));
      text.insert(text.end(), page.begin(), page.end());
    }
    text.resize(text.size() + random() % 31, 7);
    auto max = static_cast<int64_t>(random() % 6);
    ASSERT_EQ(tree.find(text, max), model.find(text, max));
  }
  void evict() {
    std::optional<SharedPage> oldest = model.oldest();
    ASSERT_EQ(tree.evict(), oldest);
    if (!oldest)
      return;
    ASSERT_FALSE(model.isFollowed(*oldest));
    model.nodes.erase(*oldest);
    ++evictions;
  }

  std::mt19937_64 random;
  int64_t pages;
  PrefixTree tree;
  Model model;
  std::vector<SharedPage> pinned;
};

TEST(PrefixTreeTest, DoesAsAModelThatGoesOverEverything) {
  int64_t evictions = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed, 4 + static_cast<int64_t>(seed));
    for (int i = 0; i < 400 && !testing::Test::HasFatalFailure(); ++i) {
      walk.step();
      walk.check();
    }
    walk.end();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    evictions += walk.evictions;
  }
  EXPECT_GT(evictions, 500);
}

} // namespace
