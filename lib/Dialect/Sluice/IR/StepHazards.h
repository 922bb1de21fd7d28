//===- StepHazards.h - checks of a step's memory accesses -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the memory accesses of a step. The passes that plan a step derive
// barriers, lifetimes and places from the accesses of its tasks. These checks
// derive them again, by other means, from the finished step, so they find
// mistakes of a pass or of a manual edit.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_STEPHAZARDS_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_STEPHAZARDS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::ir {

/// Checks that each buffer is written exactly once, not counting checkpoints,
/// and is read only after that (step_c2).
mlir::LogicalResult verifyWriters(StepOp step);

/// Checks a step whose arena is assigned: places, overlapping lifetimes,
/// barriers, and the buffers that checkpoints move (step_c3 to step_c6).
mlir::LogicalResult verifyArena(StepOp step);

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_STEPHAZARDS_H
