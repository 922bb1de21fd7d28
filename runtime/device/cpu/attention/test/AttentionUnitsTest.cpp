//===- AttentionUnitsTest.cpp - units cover all work once -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/AttentionUnits.h"
#include "runtime/device/cpu/attention/Attention.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace sluice::cpu;

namespace {

SluiceAttention shape(int64_t heads, int64_t kvHeads) {
  SluiceAttention params = {};
  params.heads = heads;
  params.kvHeads = kvHeads;
  params.headDim = 64;
  return params;
}

TEST(AttentionUnitsTest, EveryPairOfRowAndHeadIsInOneUnit) {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    int64_t kvHeads = 1 + random() % 4;
    int64_t group = 1 + random() % 40;
    int64_t heads = kvHeads * group;
    std::vector<RowRun> runs;
    int64_t rows = 0;
    for (int n = 1 + random() % 5; n > 0; --n) {
      runs.push_back({rows, 1 + static_cast<int64_t>(random() % 30)});
      rows += runs.back().count;
    }
    SluiceAttention params = shape(heads, kvHeads);
    AttentionUnits units(runs, params, 1 + random() % 8);
    std::vector<int> seen(rows * heads);
    // Threads get ascending numbers with gaps; this loop takes every number.
    for (int64_t unit = 0; unit < units.count(); ++unit) {
      UnitPlace place = units.place(unit);
      ASSERT_GT(place.rows * place.headCount, 0);
      ASSERT_LE(place.rows * place.headCount, maxUnitPairs);
      ASSERT_EQ(place.headBegin / group, place.kvHead);
      ASSERT_EQ((place.headBegin + place.headCount - 1) / group, place.kvHead);
      bool inOneRun = false;
      for (const RowRun &run : runs)
        inOneRun |= place.rowBegin >= run.begin &&
                    place.rowBegin + place.rows <= run.begin + run.count;
      ASSERT_TRUE(inOneRun);
      for (int64_t row = 0; row < place.rows; ++row)
        for (int64_t head = 0; head < place.headCount; ++head)
          ++seen[(place.rowBegin + row) * heads + place.headBegin + head];
    }
    for (int count : seen)
      ASSERT_EQ(count, 1);
  }
}

TEST(AttentionUnitsTest, ASingleRowKeepsAllThreadsBusy) {
  std::vector<RowRun> runs = {{0, 1}};
  for (int64_t threads : {1, 2, 8}) {
    SluiceAttention params = shape(32, 1);
    EXPECT_GE(AttentionUnits(runs, params, threads).count(), threads);
  }
}

} // namespace
