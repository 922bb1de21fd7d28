//===- StepLayout.h - the arena of a step --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_STEPLAYOUT_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_STEPLAYOUT_H

#include "ArenaPlan.h"
#include "BarrierPlacement.h"
#include "StepGraph.h"

namespace sluice::planning {

/// Where the buffers of each domain lie.
struct StepLayout {
  ArenaPlan rows;
  ArenaPlan outputs;

  const ArenaPlan &operator[](Domain domain) const {
    return domain == Domain::Rows ? rows : outputs;
  }
};

/// Places the buffers of a step whose tasks touch `accesses` in memory, each in
/// its interval: two buffers share memory where no interval uses both. The
/// logits, and rows that are sent, are kept to the end. Fails where rows are
/// too wide.
mlir::FailureOr<StepLayout>
planStep(const StepGraph &graph,
         llvm::ArrayRef<llvm::SmallVector<Access>> accesses,
         llvm::ArrayRef<unsigned> intervals);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_STEPLAYOUT_H
