//===- StepHazards.h - checks what a step's tasks do to its memory --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes that plan a step derive barriers, lifetimes and places from what
// its tasks access. These checks derive them again, by other means, from the
// step as it is written: they find what a pass, or whoever edits a step, gets
// wrong.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_STEPHAZARDS_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_STEPHAZARDS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::ir {

/// Checks that each buffer is written once beside checkpoints, and read behind
/// that only (step_c2).
mlir::LogicalResult verifyWriters(StepOp step);

/// Checks a step whose arena is assigned: places, overlapping lifetimes,
/// barriers, and what checkpoints move (step_c3 to step_c6).
mlir::LogicalResult verifyArena(StepOp step);

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_STEPHAZARDS_H
