//===- BarrierPlacement.cpp - where threads wait for each other -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BarrierPlacement.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sluice::planning;

/// Whether threads must meet between the two.
static bool conflicts(const Access &earlier, const Access &later) {
  if (earlier.buffer != later.buffer || (!earlier.writes && !later.writes))
    return false;
  return earlier.share == Share::Whole || earlier.share != later.share;
}

SmallVector<unsigned>
sluice::planning::placeBarriers(ArrayRef<SmallVector<Access>> tasks,
                                const llvm::BitVector &checkpoints) {
  SmallVector<unsigned> intervals;
  SmallVector<Access> sinceBarrier;
  unsigned interval = 0;
  bool isAfterCheckpoint = false;
  for (auto [index, task] : llvm::enumerate(tasks)) {
    bool isCheckpoint = !checkpoints.empty() && checkpoints[index];
    bool conflictsWithEarlier = llvm::any_of(task, [&](const Access &later) {
      return llvm::any_of(sinceBarrier, [&](const Access &earlier) {
        return conflicts(earlier, later);
      });
    });
    if (isCheckpoint || isAfterCheckpoint || conflictsWithEarlier) {
      ++interval;
      sinceBarrier.clear();
    }
    isAfterCheckpoint = isCheckpoint;
    intervals.push_back(interval);
    llvm::append_range(sinceBarrier, task);
  }
  return intervals;
}
