//===- Lowering.h - from each phase of a module to the next ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_TARGET_LOWERING_H
#define SLUICE_LIB_TARGET_LOWERING_H

#include "sluice/Target/Compiler.h"

namespace sluice {

/// Returns the next phase. `phase` must not be the last one.
Phase nextPhase(Phase phase);

/// Returns the only phase that a module can be in, judging by its ops.
Phase phaseOf(mlir::ModuleOp module);

/// Checks that the module is in a phase, at most phase kernels.
Status verifyPhase(mlir::ModuleOp module, const CompileOptions &options,
                   Phase phase);

/// Lowers the module from `phase`, which is before phase kernels, to the next
/// phase. The status of a failure is the first error that a pass emits.
Status lowerToNext(mlir::ModuleOp module, const CompileOptions &options,
                   Phase phase);

/// Returns whether a draft was merged into a module of phase model.
bool hasDraft(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_LIB_TARGET_LOWERING_H
