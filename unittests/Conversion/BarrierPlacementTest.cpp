//===- BarrierPlacementTest.cpp - where threads wait for each other -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/StepPlanning/BarrierPlacement.h"

#include "gmock/gmock.h"

using namespace sluice::planning;
using testing::ElementsAre;

namespace {

using Tasks = llvm::SmallVector<llvm::SmallVector<Access>>;

Access reads(unsigned buffer, Share share) { return {buffer, share, false}; }
Access writes(unsigned buffer, Share share) { return {buffer, share, true}; }

TEST(BarrierPlacement, SameRowsNeedNone) {
  Tasks tasks = {{writes(0, Share::Rows)},
                 {reads(0, Share::Rows), writes(1, Share::Rows)},
                 {reads(1, Share::Rows), writes(0, Share::Rows)}};
  EXPECT_THAT(placeBarriers(tasks), ElementsAre(0, 0, 0));
}

TEST(BarrierPlacement, ReadersOfOneValueShareABarrier) {
  Tasks tasks = {{writes(0, Share::Rows)},
                 {reads(0, Share::Whole), writes(1, Share::Whole)},
                 {reads(0, Share::Whole), writes(2, Share::Whole)},
                 {reads(0, Share::Whole), writes(3, Share::Whole)},
                 {reads(1, Share::Rows), reads(2, Share::Rows)}};
  EXPECT_THAT(placeBarriers(tasks), ElementsAre(0, 1, 1, 1, 2));
}

TEST(BarrierPlacement, OverwritingWhatOthersMayStillRead) {
  Tasks tasks = {{reads(0, Share::Whole)}, {writes(0, Share::Rows)}};
  EXPECT_THAT(placeBarriers(tasks), ElementsAre(0, 1));
}

TEST(BarrierPlacement, SharesOfRowsAndOfOutputsDiffer) {
  Tasks tasks = {{writes(0, Share::Rows)}, {reads(0, Share::Outputs)}};
  EXPECT_THAT(placeBarriers(tasks), ElementsAre(0, 1));
}

TEST(BarrierPlacement, TheWholeConflictsWithItself) {
  Tasks tasks = {{writes(0, Share::Whole)}, {reads(0, Share::Whole)}};
  EXPECT_THAT(placeBarriers(tasks), ElementsAre(0, 1));
}

TEST(BarrierPlacement, ABarrierSettlesAllBeforeIt) {
  Tasks tasks = {{writes(0, Share::Rows), writes(1, Share::Rows)},
                 {reads(0, Share::Whole)},
                 {reads(1, Share::Whole)}};
  EXPECT_THAT(placeBarriers(tasks), ElementsAre(0, 1, 1));
}

TEST(BarrierPlacement, ReadersNeedNone) {
  Tasks tasks = {{reads(0, Share::Whole)},
                 {reads(0, Share::Rows)},
                 {reads(0, Share::Outputs)}};
  EXPECT_THAT(placeBarriers(tasks), ElementsAre(0, 0, 0));
}

TEST(BarrierPlacement, CheckpointsAreBarriers) {
  // What stands before a checkpoint and what stands behind it are in intervals
  // of their own, and so is it, whether they share a buffer or not.
  Tasks tasks = {{writes(0, Share::Rows)},
                 {reads(0, Share::Rows)},
                 {writes(0, Share::Whole)},
                 {reads(0, Share::Whole)},
                 {},
                 {},
                 {reads(0, Share::Rows)}};
  llvm::BitVector checkpoints(7);
  for (unsigned task : {2, 4, 5})
    checkpoints.set(task);
  EXPECT_THAT(placeBarriers(tasks, checkpoints),
              ElementsAre(0, 0, 1, 2, 3, 4, 5));
}

TEST(BarrierPlacement, NothingToPlace) {
  EXPECT_TRUE(placeBarriers(Tasks()).empty());
}

} // namespace
