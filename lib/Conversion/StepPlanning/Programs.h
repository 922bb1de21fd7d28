//===- Programs.h - describes the code of a step --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_CONVERSION_STEPPLANNING_PROGRAMS_H
#define SLUICE_LIB_CONVERSION_STEPPLANNING_PROGRAMS_H

#include "sluice/Dialect/Sluice/IR/SluiceOps.h"

namespace sluice::planning {

/// Puts the `sluice.program` of a step, whose code is the symbol `code`, in
/// front of the step. `cpu` is null for a GPU; `weights` are numbered as the
/// code names them.
ir::ProgramOp createProgram(ir::StepOp step, llvm::StringRef code,
                            ir::CpuLevelAttr cpu,
                            llvm::ArrayRef<mlir::Attribute> weights);

/// The name of the symbol that becomes a step's code; fails where something
/// else has it.
mlir::FailureOr<std::string> nameCode(ir::StepOp step,
                                      mlir::SymbolTable &symbols);

/// The number of a rope table among those of the program.
int64_t getTableIndex(mlir::Value table);

/// Where a buffer's records begin, in floats for each record of capacity.
int64_t getPlace(mlir::Value buffer);

} // namespace sluice::planning

#endif // SLUICE_LIB_CONVERSION_STEPPLANNING_PROGRAMS_H
