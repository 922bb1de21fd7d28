//===- PlanTargets.h - registration of the targets of plans ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_CONVERSION_PLANTARGETS_H
#define SLUICE_CONVERSION_PLANTARGETS_H

namespace mlir {
class DialectRegistry;
}

namespace sluice {

/// Attaches PlanTargetInterface to #sluice.cpu. The passes that plan steps
/// query a target through this interface.
void registerCpuPlanTarget(mlir::DialectRegistry &registry);

/// Attaches PlanTargetInterface to #sluice.cuda.
void registerCudaPlanTarget(mlir::DialectRegistry &registry);

} // namespace sluice

#endif // SLUICE_CONVERSION_PLANTARGETS_H
