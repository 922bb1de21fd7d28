//===- StepBuilder.h - builds the step of a program -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_PLANNING_STEPBUILDER_H
#define SLUICE_LIB_PLANNING_STEPBUILDER_H

#include "Deployment.h"

namespace sluice::planning {

/// Builds the step of a `sluice.model` or `sluice.worker` in front of it, under
/// the given name: one task for each op, in an order in which they can be
/// executed. Reports on the op that the target cannot take.
mlir::FailureOr<ir::StepOp> buildStep(const ProgramSource &source,
                                      llvm::StringRef name,
                                      mlir::FlatSymbolRefAttr counterpart,
                                      ir::PlanTargetInterface target);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_STEPBUILDER_H
