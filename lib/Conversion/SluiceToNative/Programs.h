//===- Programs.h - the sluice.program of a step --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_PROGRAMS_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_PROGRAMS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::planning {

/// Creates the `sluice.program` of a step and inserts it before the step. Its
/// code is the symbol `code`; `cpu` is null for a GPU; `weights` are numbered
/// as in the code.
ir::ProgramOp createProgram(ir::StepOp step, llvm::StringRef code,
                            ir::CpuLevelAttr cpu,
                            llvm::ArrayRef<mlir::Attribute> weights);

/// Returns the name for the symbol of a step's code. Fails if another symbol
/// has the name.
mlir::FailureOr<std::string> nameCode(ir::StepOp step,
                                      mlir::SymbolTable &symbols);

/// Returns the number of a rope table in the program.
int64_t getTableIndex(mlir::Value table);

/// Returns the buffer's place: with a capacity of R records, the buffer begins
/// at float place * R.
int64_t getPlace(mlir::Value buffer);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_PROGRAMS_H
