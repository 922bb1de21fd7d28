//===- GuessTreeTest.cpp - trees keep what can still come true ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/core/GuessTree.h"

#include <gtest/gtest.h>
#include <random>

using namespace sluice;

namespace {

std::vector<NodeId> numbers(const GuessTree &tree) {
  std::vector<NodeId> all;
  for (const GuessNode &node : tree.nodes())
    all.push_back(node.node);
  return all;
}

using Nodes = std::vector<NodeId>;

/// Adds a guess and gives it a number.
int32_t add(GuessTree &tree, NodeId node, int32_t parent, int32_t token,
            double chance) {
  int32_t index = tree.add(parent, token, static_cast<float>(chance), chance);
  if (index >= 0)
    tree.nodes()[static_cast<size_t>(index)].node = node;
  return index;
}

/// Root 10; below it 11 (token 1) and 12 (token 2); below 11: 13; below 12: 14
/// and 15; below 13: 16.
GuessTree family() {
  GuessTree tree(16);
  tree.reset(10, 9, 5, 0);
  EXPECT_EQ(add(tree, 11, 0, 1, 0.5), 1);
  EXPECT_EQ(add(tree, 12, 0, 2, 0.25), 2);
  EXPECT_EQ(add(tree, 13, 1, 3, 0.5), 3);
  EXPECT_EQ(add(tree, 14, 2, 4, 0.5), 4);
  EXPECT_EQ(add(tree, 15, 2, 5, 0.1), 5);
  EXPECT_EQ(add(tree, 16, 3, 6, 0.5), 6);
  return tree;
}

TEST(GuessTreeTest, ChancesMultiplyAlongThePath) {
  GuessTree tree = family();
  const GuessNode &node = tree.nodes()[6];
  EXPECT_EQ(node.parent, 13);
  EXPECT_EQ(node.depth, 3);
  EXPECT_EQ(node.position, 8);
  EXPECT_DOUBLE_EQ(node.pathChance, 0.125);
  EXPECT_EQ(tree.find(14), 4);
  EXPECT_EQ(tree.find(9), -1);
  EXPECT_EQ(tree.child(2, 5), 5);
  EXPECT_EQ(tree.child(2, 6), -1);
  EXPECT_EQ(tree.waiting(), 6);
}

TEST(GuessTreeTest, AConfirmedChildIsTheRoot) {
  GuessTree tree = family();
  for (size_t i : {0, 1, 2, 4})
    tree.nodes()[i].launched = true;
  GuessTree::Confirmation outcome = tree.confirm(2);
  EXPECT_TRUE(outcome.found);
  EXPECT_TRUE(outcome.launched);
  EXPECT_EQ(outcome.died, 1); // 11; 13 and 16 waited
  EXPECT_EQ(numbers(tree), (Nodes{12, 14, 15}));
  EXPECT_EQ(tree.root().parentIndex, -1);
  EXPECT_EQ(tree.root().children, 2);
  EXPECT_EQ(tree.root().depth, 0);
  EXPECT_DOUBLE_EQ(tree.root().pathChance, 1);
  EXPECT_DOUBLE_EQ(tree.nodes()[1].pathChance, 0.5);
  EXPECT_EQ(tree.nodes()[2].parentIndex, 0);
  EXPECT_EQ(tree.launched(), 1);
}

TEST(GuessTreeTest, AnUnknownTokenLeavesNothing) {
  GuessTree tree = family();
  tree.nodes()[1].launched = true;
  GuessTree::Confirmation outcome = tree.confirm(99);
  EXPECT_FALSE(outcome.found);
  EXPECT_EQ(outcome.died, 1);
  EXPECT_TRUE(tree.empty());
}

TEST(GuessTreeTest, TheLeastLikelyLeafGoes) {
  GuessTree tree = family();
  EXPECT_TRUE(tree.dropWorstBelow(0.2)); // 15, at 0.025
  EXPECT_EQ(numbers(tree), (Nodes{10, 11, 12, 13, 14, 16}));
  EXPECT_EQ(tree.nodes()[2].children, 1);
  EXPECT_EQ(tree.nodes()[5].parentIndex, 3);
  // 12 is no leaf, and the other guesses are likelier.
  EXPECT_FALSE(tree.dropWorstBelow(0.1));
  tree.nodes()[4].launched = true;
  EXPECT_TRUE(tree.dropWorstBelow(0.2));
  EXPECT_EQ(numbers(tree), (Nodes{10, 11, 12, 13, 14}));
}

TEST(GuessTreeTest, ALevelIsCutToItsBest) {
  GuessTree tree(16);
  tree.reset(0, noNode, 0, 0);
  add(tree, 1, 0, 1, 0.1);
  add(tree, 2, 0, 2, 0.4);
  add(tree, 3, 0, 3, 0.2);
  tree.keepBest(1, 2);
  EXPECT_EQ(numbers(tree), (Nodes{0, 2, 3}));
  tree.keepBest(1, 5);
  EXPECT_EQ(numbers(tree), (Nodes{0, 2, 3}));
  tree.keepBest(1, 0);
  EXPECT_EQ(numbers(tree), (Nodes{0}));
}

TEST(GuessTreeTest, AFullTreeTakesNothing) {
  GuessTree tree(2);
  tree.reset(0, noNode, 0, 0);
  EXPECT_EQ(add(tree, 1, 0, 1, 1), 1);
  EXPECT_EQ(add(tree, 2, 0, 2, 1), -1);
  EXPECT_EQ(tree.root().children, 1);
}

/// Compared with descent by following parents.
TEST(GuessTreeTest, RandomTreesKeepWhatDescends) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    GuessTree tree(64);
    tree.reset(0, noNode, 0, 0);
    std::vector<NodeId> parents = {noNode};
    for (NodeId node = 1; node < 40; ++node) {
      int32_t parent = static_cast<int32_t>(random() % parents.size());
      add(tree, node, parent, static_cast<int32_t>(node), 0.5);
      parents.push_back(parent);
    }
    for (NodeId root = 0; tree.root().children > 0;) {
      int32_t token = tree.nodes()[1].token;
      EXPECT_EQ(tree.nodes()[1].parent, root);
      ASSERT_TRUE(tree.confirm(token).found);
      root = token;
      Nodes expected;
      for (NodeId node = root; node < 40; ++node) {
        NodeId at = node;
        while (at > root)
          at = parents[static_cast<size_t>(at)];
        if (at == root)
          expected.push_back(node);
      }
      ASSERT_EQ(numbers(tree), expected);
      for (const GuessNode &node : tree.nodes().subspan(1)) {
        const GuessNode &parent =
            tree.nodes()[static_cast<size_t>(node.parentIndex)];
        EXPECT_EQ(parent.node, node.parent);
        EXPECT_EQ(parent.depth + 1, node.depth);
      }
    }
  }
}

} // namespace
