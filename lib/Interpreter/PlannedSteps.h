//===- PlannedSteps.h - executes steps of the phase plan ------------------===//
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
/// stage; the members of a group stand one behind the other and take turns.
/// Each buffer has memory of its own here, whatever its place; operands of
/// products are the rows that they were made of; barriers do nothing. What a
/// checkpoint does not move is gone behind it, so that a value that a plan
/// loses is an error. Errors name the task.
Expected<PartResult> evalSteps(const std::vector<mlir::Operation *> &steps,
                               const StepBatch &batch,
                               Environment &environment);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_PLANNEDSTEPS_H
