//===- Programs.h - the sluice.program of a step --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_SLUICETONATIVE_PROGRAMS_H
#define SLUICE_LIB_CONVERSION_SLUICETONATIVE_PROGRAMS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::native {

/// Checks that a step can be converted: it has an arena, and no symbol has the
/// name that the step gets.
mlir::LogicalResult checkConvertible(ir::StepOp step,
                                     const mlir::SymbolTable &symbols);

/// Creates the `sluice.program` of a step whose tasks have their code, and
/// gives it the step's name; the step gets the name with `_step` behind it.
/// `cpu` is null for a GPU.
void createProgram(ir::StepOp step, ir::CpuLevelAttr cpu,
                   mlir::SymbolTable &symbols);

} // namespace sluice::native

#endif // SLUICE_LIB_CONVERSION_SLUICETONATIVE_PROGRAMS_H
