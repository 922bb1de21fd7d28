//===- StepPlanBuilder.h - a planned step as data -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_TARGET_STEPPLANBUILDER_H
#define SLUICE_LIB_TARGET_STEPPLANBUILDER_H

#include "runtime/device/StepPlan.h"
#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice {

/// Returns the step of a program in the form that its executor uses. Weights,
/// caches and rope tables are numbered as in `program`. Each op that is a task
/// or barrier becomes one task, in order, and a `sluice.task.sample` one for
/// each of its kernels.
device::StepPlan buildStepPlan(ir::StepOp step, ir::ProgramOp program);

} // namespace sluice

#endif // SLUICE_LIB_TARGET_STEPPLANBUILDER_H
