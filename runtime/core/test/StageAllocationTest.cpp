//===- StageAllocationTest.cpp - a stage's step allocates nothing ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/Allocations.h"
#include "runtime/core/Stage.h"

#include <array>
#include <gtest/gtest.h>

using namespace sluice;
using sluice::test::allocations;

namespace {

/// Runs rounds of a certain row and a tree of guesses below it, in two frames,
/// with forks, copies and mirrors; half of the rows leave at a checkpoint.
class Rounds {
public:
  Rounds(Stage &stage, EpochBoard &board, bool onDevice)
      : stage(stage), board(board), onDevice(onDevice) {
    alive.reserve(16);
  }

  void open() {
    OpenRequest open;
    open.promptTokens = 1;
    open.knownTokens = 1;
    frame.opens.push_back(open);
    addRow(noNode, true);
    finish(noNode);
  }

  void round() {
    NodeId root = addRow(last, true);
    enqueue();
    NodeId right = addRow(root, false);
    NodeId wrong = addRow(root, false);
    addRow(right, false);
    addRow(wrong, false);
    NodeId sibling = addRow(wrong, false);
    addRow(sibling, false);
    finish(right);
    last = right;
  }

private:
  NodeId addRow(NodeId parent, bool certain) {
    Row row;
    row.node = next++;
    row.parent = parent;
    // The confirmed path has two nodes for each round.
    row.position = parent == noNode ? 0 : positions[parent % 64] + 1;
    row.certain = certain;
    row.wantsOutput = true;
    positions[row.node % 64] = row.position;
    frame.rows.push_back(row);
    return row.node;
  }

  void enqueue() {
    if (last != 0)
      frame.marks.push_back({0, 0, last, false});
    ASSERT_TRUE(stage.enqueue(std::move(frame)));
  }

  void finish(NodeId confirmed) {
    enqueue();
    ASSERT_TRUE(*stage.formStep());
    board.publish({0, 0, confirmed, false});
    int64_t rows = stage.batch().rows();
    if (onDevice)
      leaveOnDevice();
    else
      stage.checkpoint();
    if (confirmed != noNode)
      ASSERT_LT(stage.batch().rows(), rows);
    ASSERT_GT(stage.outputOf(0).size() + stage.promptOf(0).size(), 0u);
    outgoing.clear();
    stage.finishStep(outgoing);
  }

  /// Passes checkpoints as a device that sees all deaths but the first, and so
  /// keeps no orphan.
  void leaveOnDevice() {
    alive.assign(size_t(stage.batch().rows()), 1);
    stage.findDead(alive);
    stage.leave({});
    stage.leave(alive);
    stage.dropOrphans();
  }

  Stage &stage;
  EpochBoard &board;
  bool onDevice;
  std::vector<uint8_t> alive;
  StepFrame frame, outgoing;
  NodeId next = 0;
  NodeId last = 0;
  std::array<int32_t, 64> positions{};
};

TEST(StageAllocationTest, StepsAllocateNothing) {
  for (bool onDevice : {false, true}) {
    CachePages pages = CachePages::create({64, 16, 1024}).take();
    EpochBoard board(1);
    StageLimits limits;
    limits.branches = 16;
    limits.nodes = 16;
    limits.contextLength = 1024;
    limits.frames = 2;
    Stage stage = Stage::create(limits, pages, board).take();
    Rounds rounds(stage, board, onDevice);
    rounds.open();
    // Runs until every frame of the mailbox has grown to its size.
    for (int i = 0; i < 8; ++i)
      rounds.round();
    int64_t before = allocations();
    for (int i = 0; i < 200; ++i)
      rounds.round();
    EXPECT_EQ(allocations(), before);
    EXPECT_GT(stage.counters().departedAtCheckpoint, 200u);
  }
}

/// Runs one request after the other, each of which begins with two pages of the
/// one before, which are then unpinned, and pins two of its own.
class Turns {
public:
  explicit Turns(Stage &stage) : stage(stage) {}

  void turn() {
    begin();
    for (int32_t at = first; at < tokens; ++at) {
      Row row;
      row.node = base + at;
      row.parent = at > 0 ? row.node - 1 : noNode;
      row.position = at;
      row.token = at;
      row.certain = true;
      row.wantsOutput = at + 1 == tokens;
      frame.rows.push_back(row);
    }
    step();
    spare = std::move(outgoing.opens[0]);
    frame.unpins.assign(spare.prefixPages.begin(), spare.prefixPages.end());
    for (int32_t index = 0; index < 2; ++index)
      frame.pins.push_back({0, base + tokens - 1, index, index});
    frame.closes.push_back(0);
    step();
    base += tokens;
    first = 64;
  }

private:
  static constexpr int32_t tokens = 70;

  /// Reuses the lists that came out of the stage, which have grown to their
  /// sizes.
  void begin() {
    frame.opens.push_back(std::move(spare));
    OpenRequest &open = frame.opens.back();
    open.firstNode = base;
    open.promptTokens = open.knownTokens = tokens;
    open.prefix.clear();
    open.prefixPages.clear();
    if (first == 0)
      return;
    for (int32_t at = 0; at < first; ++at)
      open.prefix.push_back(at);
    open.prefixPages.push_back(0);
    open.prefixPages.push_back(1);
  }

  void step() {
    ASSERT_TRUE(stage.enqueue(std::move(frame)));
    ASSERT_TRUE(*stage.formStep());
    if (stage.batch().rows() > 0)
      ASSERT_EQ(stage.promptOf(stage.batch().rows() - 1).size(), tokens);
    outgoing.clear();
    stage.finishStep(outgoing);
  }

  Stage &stage;
  StepFrame frame, outgoing;
  OpenRequest spare;
  NodeId base = 0;
  int32_t first = 0; ///< position of the first row
};

TEST(StageAllocationTest, SharingAllocatesNothing) {
  CachePages pages = CachePages::create({16, 4, 128}).take();
  EpochBoard board(1);
  StageLimits limits;
  limits.branches = 4;
  limits.contextLength = 128;
  limits.frames = 2;
  limits.sharedPages = 2;
  Stage stage = Stage::create(limits, pages, board).take();
  Turns turns(stage);
  for (int i = 0; i < 8; ++i)
    turns.turn();
  int64_t before = allocations();
  for (int i = 0; i < 100; ++i)
    turns.turn();
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(stage.holdings(), (Stage::Holdings{.pinned = 2}));
}

} // namespace
