//===- StepBuilder.h - the builder of a program's step --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_PLANNING_STEPBUILDER_H
#define SLUICE_LIB_PLANNING_STEPBUILDER_H

#include "Deployment.h"

namespace sluice::planning {

/// Builds the step of a `sluice.model` or `sluice.worker` and inserts it before
/// that op. The step has the given name and one task for each op, in an order
/// in which they can be executed. Reports an error at an op that the target
/// does not support.
mlir::FailureOr<ir::StepOp> buildStep(const ProgramSource &source,
                                      llvm::StringRef name,
                                      mlir::FlatSymbolRefAttr counterpart,
                                      ir::PlanTargetInterface target);

} // namespace sluice::planning

#endif // SLUICE_LIB_PLANNING_STEPBUILDER_H
