//===- ProgramWeights.h - checks of a program's weights -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_PROGRAMWEIGHTS_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_PROGRAMWEIGHTS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::ir {

/// Checks each use of a weight by itself (program_c2).
mlir::LogicalResult verifyUses(ProgramOp program,
                               mlir::SymbolTableCollection &symbols);

/// Checks each weight that is computed together with a partner (program_c13).
mlir::LogicalResult verifyPartners(ProgramOp program,
                                   mlir::SymbolTableCollection &symbols);

/// Checks that the program has all weights that its step uses (program_c12).
mlir::LogicalResult verifyListed(ProgramOp program, StepOp step);

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_PROGRAMWEIGHTS_H
