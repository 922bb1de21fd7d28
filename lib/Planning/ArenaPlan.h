//===- ArenaPlan.h - where values lie in the arena ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step allocates nothing: its values lie in one arena at offsets that are
// constants but for the capacities, which the runtime chooses at its start.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_PLANNING_ARENAPLAN_H
#define SLUICE_LIB_PLANNING_ARENAPLAN_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace sluice::planning {

/// A buffer to place: how much it takes for each row, and the first and last
/// interval between barriers in which it is used.
struct Lifetime {
  int64_t floatsPerRow = 0;
  unsigned first = 0;
  unsigned last = 0;
};

struct ArenaPlan {
  /// Floats per row of capacity at which each buffer starts; a multiple of 16,
  /// so that buffers are aligned to 64 bytes.
  llvm::SmallVector<int64_t> offsets;
  /// Floats per row of capacity that hold them all; a multiple of 16.
  int64_t floatsPerRow = 0;
};

/// Gives buffers that are in use in the same interval places of their own, and
/// lets others share. Largest first, each at the lowest place that is free:
/// near the optimum for the intervals that layers make. Fails where the sum of
/// the sizes does not fit 62 bits; a buffer of no floats takes no place.
mlir::FailureOr<ArenaPlan> planArena(llvm::ArrayRef<Lifetime> buffers);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_ARENAPLAN_H
