//===- StageTreeTest.cpp - which rows live --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StageTree.h"

#include <gtest/gtest.h>
#include <random>

using namespace sluice;

namespace {

Row makeRow(NodeId node, NodeId parent, int32_t position, bool certain) {
  Row row;
  row.node = node;
  row.parent = parent;
  row.position = position;
  row.token = static_cast<int32_t>(node + 100);
  row.certain = certain;
  return row;
}

StageTree openTree(NodeId firstNode, int64_t nodes = 64) {
  StageTree tree(0, nodes, 16, 64);
  OpenRequest open;
  open.firstNode = firstNode;
  tree.open(open);
  return tree;
}

TEST(StageTreeTest, OnlyWhatDescendsFromTheConfirmedNodeLives) {
  StageTree tree = openTree(0);
  tree.insert(makeRow(0, noNode, 0, true), 0, 1, 0);
  tree.insert(makeRow(1, 0, 1, false), 0, 1, 0);
  tree.insert(makeRow(2, 0, 1, false), 0, 1, 0);
  tree.insert(makeRow(3, 1, 2, false), 0, 1, 0);
  // A certain row after the confirmed one descends from it.
  EXPECT_TRUE(tree.lives(3, 1, false));
  EXPECT_TRUE(tree.lives(4, 3, false));
  EXPECT_TRUE(tree.observe({1, false}));
  EXPECT_FALSE(tree.observe({1, false}));
  EXPECT_TRUE(tree.lives(1, 0, false));
  EXPECT_FALSE(tree.lives(2, 0, false));
  EXPECT_TRUE(tree.lives(3, 1, false));
  EXPECT_FALSE(tree.lives(4, 2, false));
  EXPECT_FALSE(tree.lives(5, 4, false)); // 4 is not known
  EXPECT_TRUE(tree.lives(6, 5, true));
  // Node 7 is not here yet: only it and its later descendants live.
  tree.observe({7, false});
  EXPECT_FALSE(tree.lives(3, 1, false));
  EXPECT_TRUE(tree.lives(7, 3, false));
  EXPECT_TRUE(tree.lives(8, 7, false));
  tree.observe({8, true});
  EXPECT_FALSE(tree.lives(0, noNode, true));
  EXPECT_FALSE(tree.lives(8, 7, true));
  EXPECT_TRUE(tree.lives(9, noNode, true)); // the slot's next request
}

TEST(StageTreeTest, TheSlotsLastRequestIsForgotten) {
  StageTree tree = openTree(0);
  tree.insert(makeRow(0, noNode, 0, true), 0, 1, 0);
  ASSERT_NE(tree.find(0), nullptr);
  tree.note({0, 1, 0, false});
  tree.close();
  OpenRequest next;
  next.firstNode = 1;
  tree.open(next);
  EXPECT_EQ(tree.find(0), nullptr);
  EXPECT_EQ(tree.findAny(0), nullptr);
  EXPECT_FALSE(tree.inBand);
  EXPECT_EQ(tree.find(noNode), nullptr);
}

TEST(StageTreeTest, APrefixIsThereAsIfItsRowsHadCome) {
  StageTree tree(0, 64, 16, 64);
  OpenRequest open;
  open.firstNode = 7;
  open.prefix.resize(32);
  for (int32_t at = 0; at < 32; ++at)
    open.prefix[at] = 500 + at;
  tree.open(open, 3);
  StageNode *last = tree.find(38);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->sequence, 3);
  EXPECT_EQ(last->position, 31);
  EXPECT_EQ(last->token, 531);
  EXPECT_TRUE(last->certain);
  EXPECT_TRUE(tree.lives(40, 38, false));
  EXPECT_EQ(tree.find(37), nullptr);
  tree.insert(makeRow(39, 38, 32, true), 3, 1, 0);
  tree.insert(makeRow(40, 39, 33, false), 3, 1, 0);
  std::span<const int32_t> path = tree.path(*tree.find(40));
  ASSERT_EQ(path.size(), 34u);
  for (int32_t at = 0; at < 32; ++at)
    EXPECT_EQ(path[at], 500 + at);
  EXPECT_EQ(path[32], 139);
  EXPECT_EQ(path[33], 140);
  EXPECT_EQ(tree.path(*tree.find(38)).size(), 32u);
}

/// The end has the last number, which need not be on the path.
TEST(StageTreeTest, TheLastConfirmedNodeOutlivesTheEnd) {
  StageTree tree = openTree(0);
  EXPECT_EQ(tree.lastConfirmed(), noNode);
  tree.observe({3, false});
  EXPECT_FALSE(tree.hasEnded());
  tree.observe({9, true});
  EXPECT_TRUE(tree.hasEnded());
  EXPECT_EQ(tree.lastConfirmed(), 3);
}

TEST(StageTreeTest, NodesThatMatterKeepTheirPlace) {
  StageTree tree = openTree(0, 2); // 32 places
  tree.insert(makeRow(0, noNode, 0, true), 0, 1, 0);
  tree.insert(makeRow(1, 0, 1, false), 0, 1, 0);
  EXPECT_FALSE(tree.checkRoom(33, 2).ok()); // 1 lives
  EXPECT_FALSE(tree.checkRoom(32, 2).ok()); // the last certain one
  EXPECT_TRUE(tree.checkRoom(34, 2).ok());
  EXPECT_TRUE(tree.checkRoom(1, 2).ok()); // the row itself
  tree.insert(makeRow(2, 0, 1, true), 0, 2, 0);
  tree.observe({2, false});
  EXPECT_TRUE(tree.checkRoom(33, 2).ok());
  EXPECT_TRUE(tree.checkRoom(32, 2).ok());
  EXPECT_FALSE(tree.checkRoom(33, 1).ok()); // a row of the step in progress
  EXPECT_FALSE(tree.checkRoom(34, 3).ok());
}

/// Random trees and marks, compared with the definition.
TEST(StageTreeTest, AgreesWithTheDefinition) {
  std::mt19937 random(9);
  for (int round = 0; round < 2000; ++round) {
    NodeId first = random() % 5;
    StageTree tree = openTree(first);
    struct Known {
      NodeId parent;
      bool certain;
      int32_t position;
    };
    std::vector<Known> rows; // [index]: the row of node first + index
    NodeId confirmed = noNode;
    auto descends = [&](NodeId node, NodeId from) {
      while (node > from)
        node = rows[node - first].parent;
      return node == from;
    };
    int32_t prompt = 1 + random() % 5;
    for (int32_t at = 0; at < prompt; ++at) {
      NodeId parent = at ? first + at - 1 : noNode;
      tree.insert(makeRow(first + at, parent, at, true), 0, 1, 0);
      rows.push_back({parent, true, at});
    }
    for (int event = 0; event < 40; ++event) {
      if (random() % 4) {
        NodeId root = confirmed == noNode ? first + prompt - 1 : confirmed;
        NodeId parent = first + random() % rows.size();
        if (!descends(parent, root))
          continue;
        int32_t position = rows[parent - first].position + 1;
        NodeId node = first + std::ssize(rows);
        tree.insert(makeRow(node, parent, position, false), 0, 1, 0);
        rows.push_back({parent, false, position});
      } else {
        NodeId node = first + random() % rows.size();
        if (node < first + prompt - 1 ||
            (confirmed != noNode && !descends(node, confirmed)))
          continue;
        confirmed = node;
        tree.observe({confirmed, false});
      }
      for (size_t index = 0; index < rows.size(); ++index) {
        NodeId node = first + static_cast<NodeId>(index);
        bool expected = rows[index].certain || confirmed == noNode ||
                        descends(node, confirmed);
        ASSERT_EQ(tree.lives(*tree.find(node)), expected);
      }
      // Paths of any nodes are asked for, in any order.
      NodeId asked = first + random() % rows.size();
      std::span<const int32_t> path = tree.path(*tree.find(asked));
      ASSERT_EQ(std::ssize(path), rows[asked - first].position + 1);
      for (NodeId node = asked; node != noNode;
           node = rows[node - first].parent)
        ASSERT_EQ(path[rows[node - first].position], node + 100);
    }
  }
}

} // namespace
