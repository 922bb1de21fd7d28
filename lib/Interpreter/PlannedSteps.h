//===- PlannedSteps.h - execution of steps of the phase plan --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_PLANNEDSTEPS_H
#define SLUICE_LIB_INTERPRETER_PLANNEDSTEPS_H

#include "Parts.h"

namespace sluice::interpreter {

/// Executes one step of a model as the tasks of its `sluice.step`s, stage by
/// stage. The steps of a group's members follow each other in `steps`, and the
/// members are executed in turn. Each buffer has its own memory here, whatever
/// its place in the arena; operands of products are the rows from which they
/// were made; barriers do nothing. Buffers that a checkpoint does not move are
/// dropped, so a plan that loses a value causes an error. Errors name the task.
Expected<PartResult> evalSteps(const std::vector<mlir::Operation *> &steps,
                               const StepBatch &batch,
                               Environment &environment);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_PLANNEDSTEPS_H
