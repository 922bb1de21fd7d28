//===- RowMovesTest.cpp - gaps close with the fewest moves ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RowMoves.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

using namespace sluice;

namespace {

TEST(RowMovesTest, RowsFromBehindFillTheHoles) {
  std::vector<RowMove> moves = {{9, 9}};
  EXPECT_EQ(planCompaction(std::vector<uint8_t>{0, 1, 0, 1, 1}, moves), 3);
  EXPECT_EQ(moves, (std::vector<RowMove>{{3, 0}, {4, 2}}));
}

TEST(RowMovesTest, NothingMovesWhereTheLivingLieInFront) {
  std::vector<RowMove> moves;
  EXPECT_EQ(planCompaction(std::vector<uint8_t>{1, 1, 0, 0}, moves), 2);
  EXPECT_TRUE(moves.empty());
  EXPECT_EQ(planCompaction(std::vector<uint8_t>{0, 0}, moves), 0);
  EXPECT_TRUE(moves.empty());
  EXPECT_EQ(planCompaction({}, moves), 0);
}

/// Returns the fewest records that must be written to bring the living rows to
/// the slots 0 .. N-1: over all assignments of rows to slots, the least number
/// of rows that end in another slot than their own.
int64_t fewestMoves(const std::vector<uint8_t> &alive) {
  std::vector<int32_t> rows;
  for (size_t slot = 0; slot < alive.size(); ++slot)
    if (alive[slot])
      rows.push_back(static_cast<int32_t>(slot));
  int64_t min = std::ssize(rows);
  do {
    int64_t moved = 0;
    for (size_t slot = 0; slot < rows.size(); ++slot)
      moved += rows[slot] != static_cast<int32_t>(slot);
    min = std::min(min, moved);
  } while (std::next_permutation(rows.begin(), rows.end()));
  return min;
}

/// For every pattern of up to eight slots, no plan has fewer moves, every
/// living row is there once, and the order of the moves does not matter.
TEST(RowMovesTest, AllPatternsMoveAsFewAsCanBe) {
  for (int slots = 0; slots <= 8; ++slots)
    for (int pattern = 0; pattern < 1 << slots; ++pattern) {
      std::vector<uint8_t> alive;
      for (int slot = 0; slot < slots; ++slot)
        alive.push_back((pattern >> slot) & 1);
      std::vector<RowMove> moves;
      int64_t living = planCompaction(alive, moves);
      ASSERT_EQ(living, std::accumulate(alive.begin(), alive.end(), 0));
      ASSERT_EQ(std::ssize(moves), fewestMoves(alive));
      for (bool backwards : {false, true}) {
        std::vector<int32_t> content(alive.size());
        std::iota(content.begin(), content.end(), 0);
        for (size_t i = 0; i < moves.size(); ++i) {
          RowMove move = moves[backwards ? moves.size() - 1 - i : i];
          content[move.to] = content[move.from];
        }
        std::set<int32_t> kept(content.begin(), content.begin() + living);
        ASSERT_EQ(std::ssize(kept), living);
        for (int32_t row : kept)
          ASSERT_TRUE(alive[row]);
      }
    }
}

TEST(RowMovesTest, LongRandomPatternsKeepTheirContent) {
  std::mt19937 random(3);
  std::vector<RowMove> moves;
  for (int round = 0; round < 500; ++round) {
    std::vector<uint8_t> alive(random() % 600);
    uint32_t share = random() % 101;
    int64_t outside = 0, living = 0;
    for (uint8_t &lives : alive)
      living += lives = random() % 100 < share;
    for (int64_t slot = living; slot < std::ssize(alive); ++slot)
      outside += alive[slot];
    ASSERT_EQ(planCompaction(alive, moves), living);
    ASSERT_EQ(std::ssize(moves), outside);
    std::vector<uint8_t> content = alive;
    for (RowMove move : moves) {
      ASSERT_GE(move.from, living);
      ASSERT_LT(move.to, living);
      ASSERT_FALSE(content[move.to]);
      std::swap(content[move.to], content[move.from]);
    }
    for (int64_t slot = 0; slot < living; ++slot)
      ASSERT_TRUE(content[slot]);
  }
}

} // namespace
