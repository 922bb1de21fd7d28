//===- ArenaPlanTest.cpp - places of values in the arena ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Planning/ArenaPlan.h"

#include "gtest/gtest.h"

#include <limits>
#include <random>

using namespace sluice::planning;
using llvm::SmallVector;

namespace {

ArenaPlan plan(llvm::ArrayRef<Lifetime> buffers) {
  mlir::FailureOr<ArenaPlan> made = planArena(buffers);
  EXPECT_TRUE(mlir::succeeded(made));
  return *made;
}

TEST(ArenaPlan, SharesWhatIsNeverInUseTogether) {
  ArenaPlan made = plan({{64, 0, 1}, {64, 2, 3}, {64, 1, 2}});
  EXPECT_EQ(made.offsets[0], made.offsets[1]);
  EXPECT_NE(made.offsets[0], made.offsets[2]);
  EXPECT_EQ(made.floatsPerRow, 128);
}

TEST(ArenaPlan, KeepsApartWhatMeetsInAnInterval) {
  ArenaPlan made = plan({{16, 0, 1}, {16, 1, 1}});
  EXPECT_NE(made.offsets[0], made.offsets[1]);
}

TEST(ArenaPlan, RoundsUpToCacheLines) {
  ArenaPlan made = plan({{20, 0, 0}, {1, 0, 0}});
  EXPECT_EQ(made.floatsPerRow, 48);
  EXPECT_EQ(made.offsets[1], 32);
}

TEST(ArenaPlan, FillsHoles) {
  // The small, long-lived buffer fits between the short-lived ones.
  ArenaPlan made = plan({{128, 0, 1}, {64, 2, 2}, {64, 2, 3}, {32, 0, 3}});
  EXPECT_EQ(made.floatsPerRow, 160);
}

TEST(ArenaPlan, BuffersWithoutFloatsTakeNoPlace) {
  EXPECT_EQ(plan({{0, 0, 9}, {0, 0, 9}}).floatsPerRow, 0);
  EXPECT_EQ(plan({}).floatsPerRow, 0);
}

TEST(ArenaPlan, RefusesSumsThatOverflow) {
  int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(mlir::failed(planArena({{huge, 0, 0}})));
  EXPECT_TRUE(mlir::failed(planArena({{huge / 4, 0, 0}, {huge / 2, 1, 1}})));
}

TEST(ArenaPlan, NeverOverlaps) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    SmallVector<Lifetime> buffers;
    for (int i = 0; i < 60; ++i) {
      unsigned first = random() % 40;
      buffers.push_back(
          {int64_t(1 + random() % 300), first, unsigned(first + random() % 6)});
    }
    ArenaPlan made = plan(buffers);
    for (size_t a = 0; a < buffers.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        bool meet = buffers[a].first <= buffers[b].last &&
                    buffers[b].first <= buffers[a].last;
        bool overlap =
            made.offsets[a] < made.offsets[b] + buffers[b].floatsPerRow &&
            made.offsets[b] < made.offsets[a] + buffers[a].floatsPerRow;
        EXPECT_FALSE(meet && overlap);
      }
    for (size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ(made.offsets[a] % 16, 0);
      EXPECT_LE(made.offsets[a] + buffers[a].floatsPerRow, made.floatsPerRow);
    }
  }
}

} // namespace
