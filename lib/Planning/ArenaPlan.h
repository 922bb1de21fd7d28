//===- ArenaPlan.h - the places of buffers in the arena -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step allocates nothing: its buffers are in one arena. Their offsets depend
// only on constants and on the capacities, which the runtime chooses when it
// starts.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_PLANNING_ARENAPLAN_H
#define SLUICE_LIB_PLANNING_ARENAPLAN_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace sluice::planning {

/// A buffer to place: its floats for each row, and the first and last interval
/// between barriers in which it is used.
struct Lifetime {
  int64_t floatsPerRow = 0;
  unsigned first = 0;
  unsigned last = 0;
};

/// The places of all buffers.
struct ArenaPlan {
  /// The start of each buffer, in floats for each row of capacity; a multiple
  /// of 16, so that buffers are aligned to 64 bytes.
  llvm::SmallVector<int64_t> offsets;
  /// The size of the arena, in floats for each row of capacity; a multiple of
  /// 16.
  int64_t floatsPerRow = 0;
};

/// Places buffers such that two buffers that are used in the same interval do
/// not overlap; other buffers may share memory. Places the largest buffer
/// first, each at the lowest free place, which is near the optimum for the
/// intervals of layers. Fails if the sum of the sizes does not fit in 62 bits.
/// A buffer of no floats takes no place.
mlir::FailureOr<ArenaPlan> planArena(llvm::ArrayRef<Lifetime> buffers);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_ARENAPLAN_H
