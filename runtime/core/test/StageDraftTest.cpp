//===- StageDraftTest.cpp - stages that get rows again --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/test/StageHarness.h"

#include <map>
#include <random>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

/// A random head before its draft. The draft need not have every confirmed row:
/// rows of the confirmed path that it has not answered are sent as certain rows
/// before it goes on, and so are some that it has answered. Meanwhile more rows
/// are confirmed, also during steps.
class RandomDraft {
public:
  explicit RandomDraft(uint32_t seed)
      : random(seed), limits(limitsOf(random)),
        harness(limits,
                limits.branches * CachePages::pagesFor(limits.contextLength)) {
    harness.beforeCheckpoint = [this](int) {
      if (pick(3) == 0)
        advance();
    };
  }

  void run() {
    for (int request = 0; request < 3 && !hasFailed(); ++request) {
      openRequest();
      for (int64_t round = 2 + pick(12); round > 0 && !hasFailed(); --round) {
        send();
        // Sometimes a second frame leaves before the first was answered.
        if (pick(4) == 0)
          send();
        finishFrames();
        for (int64_t tokens = pick(4); tokens > 0; --tokens)
          advance();
      }
      closeRequest();
    }
    harness.expectEmpty();
  }

  Stage::Counters counters() const { return harness.stage.counters(); }

private:
  static StageLimits limitsOf(std::mt19937 &random) {
    StageLimits limits;
    limits.rows = 2 + random() % 40;
    limits.outputs = 1 + random() % 40;
    limits.nodes = 64;
    limits.branches = 100;
    limits.contextLength = 40 + random() % 60;
    return limits;
  }

  static bool hasFailed() { return ::testing::Test::HasFailure(); }
  int64_t pick(int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  }

  const Row &add(NodeId parent, int32_t position, bool certain) {
    Row row = makeRow(0, next++, parent, position, certain);
    return rows[row.node] = row;
  }

  bool lives(NodeId node) const {
    while (node > confirmed)
      node = rows.at(node).parent;
    return node == confirmed;
  }

  void openRequest() {
    rows.clear();
    answered.clear();
    StepFrame frame;
    OpenRequest open;
    open.firstNode = next;
    open.promptTokens = static_cast<int32_t>(1 + pick(35));
    open.knownTokens = open.promptTokens;
    frame.opens.push_back(open);
    confirmed = noNode;
    NodeId parent = noNode;
    for (int32_t at = 0; at < open.promptTokens; ++at)
      parent = add(parent, at, true).node;
    truth = parent;
    harness.enqueue(std::move(frame));
  }

  void closeRequest() {
    StepFrame frame;
    frame.closes.push_back(0);
    if (pick(2) == 0)
      frame.marks.push_back({0, 0, next - 1, true});
    harness.enqueue(std::move(frame));
    harness.drain();
  }

  /// Confirms the next token: that of a guess, or another one.
  void advance() {
    int32_t position = rows[truth].position + 1;
    if (position >= limits.contextLength)
      return;
    std::vector<NodeId> guesses;
    for (auto &[node, row] : rows)
      if (row.parent == truth)
        guesses.push_back(node);
    if (!guesses.empty() && pick(3) != 0)
      truth = guesses[static_cast<size_t>(pick(std::ssize(guesses)))];
    else
      truth = add(truth, position, true).node;
    confirmed = truth;
    if (pick(3) != 0) // otherwise with the next frame
      harness.board.publish({0, 0, confirmed, false});
  }

  /// Sends the part of the confirmed path that the draft has not answered, and
  /// guesses.
  void send() {
    StepFrame frame;
    std::set<NodeId> has = answered;
    std::vector<NodeId> path;
    for (NodeId at = truth; at != noNode; at = rows[at].parent)
      path.insert(path.begin(), at);
    for (NodeId node : path)
      if (!answered.contains(node) || pick(12) == 0) {
        Row row = rows[node];
        row.certain = true;
        frame.rows.push_back(row);
        has.insert(node);
      }
    int64_t guesses = 0;
    for (auto &[node, row] : rows)
      guesses += !row.certain && lives(node);
    for (int64_t count = pick(6); count > 0 && guesses < 40;
         --count, ++guesses) {
      std::vector<NodeId> parents;
      for (NodeId node : has)
        if (node == truth || (confirmed != noNode && lives(node)))
          parents.push_back(node);
      NodeId parent = parents[static_cast<size_t>(pick(std::ssize(parents)))];
      int32_t position = rows[parent].position + 1;
      if (position >= limits.contextLength)
        continue;
      const Row &row = add(parent, position, false);
      frame.rows.push_back(row);
      has.insert(row.node);
    }
    for (const Row &row : frame.rows)
      asked.push_back(row);
    if (confirmed != noNode)
      frame.marks.push_back({0, 0, confirmed, false});
    harness.enqueue(std::move(frame));
  }

  /// Checks that certain rows have answers, and so do rows that still live,
  /// unless their parent was a guess that died before it was computed. (Then
  /// the parent comes again.)
  void finishFrames() {
    for (const Row &row : harness.drain())
      answered.insert(row.node);
    for (const Row &row : asked)
      if (row.certain || (answered.contains(row.parent) &&
                          (confirmed == noNode || lives(row.node))))
        EXPECT_TRUE(answered.contains(row.node)) << "row " << row.node;
    asked.clear();
  }

  std::mt19937 random;
  StageLimits limits;
  StageHarness harness;
  std::map<NodeId, Row> rows;
  std::set<NodeId> answered;
  std::vector<Row> asked;
  NodeId next = 0;
  NodeId confirmed = noNode;
  NodeId truth = noNode;
};

TEST(StageDraftTest, WhatLivesIsAnsweredWhateverWasMissed) {
  Stage::Counters all;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    RandomDraft draft(seed);
    draft.run();
    ASSERT_FALSE(HasFailure());
    all.departedAtCheckpoint += draft.counters().departedAtCheckpoint;
    all.droppedAtMailbox += draft.counters().droppedAtMailbox;
    all.repeated += draft.counters().repeated;
  }
  EXPECT_GT(all.departedAtCheckpoint, 1'000u);
  EXPECT_GT(all.droppedAtMailbox, 1'000u);
  EXPECT_GT(all.repeated, 1'000u);
}

} // namespace
