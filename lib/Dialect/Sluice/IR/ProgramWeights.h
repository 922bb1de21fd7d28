//===- ProgramGraph.h - checks of a program's graph and weights -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_DIALECT_SLUICE_IR_PROGRAMGRAPH_H
#define SLUICE_LIB_DIALECT_SLUICE_IR_PROGRAMGRAPH_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::ir {

/// Checks each use of a weight by itself (program_c2).
mlir::LogicalResult verifyUses(ProgramOp program,
                               mlir::SymbolTableCollection &symbols);

/// Checks each weight that is computed together with a partner (program_c13).
mlir::LogicalResult verifyPartners(ProgramOp program,
                                   mlir::SymbolTableCollection &symbols);

/// Checks what the program's graph refers to (program_c12).
mlir::LogicalResult verifyGraph(ProgramOp program, GraphOp graph,
                                mlir::SymbolTableCollection &symbols);

} // namespace sluice::ir

#endif // SLUICE_LIB_DIALECT_SLUICE_IR_PROGRAMGRAPH_H
