//===- PlanTargets.h - the targets that steps are planned for -------------===//
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

/// Lets #sluice.cpu answer what the passes that plan steps ask
/// (PlanTargetInterface).
void registerCpuPlanTarget(mlir::DialectRegistry &registry);

/// Lets #sluice.cuda answer it.
void registerCudaPlanTarget(mlir::DialectRegistry &registry);

} // namespace sluice

#endif // SLUICE_CONVERSION_PLANTARGETS_H
