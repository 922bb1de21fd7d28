//===- Survivors.h - the rows that a checkpoint leaves --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_SURVIVORS_H
#define SLUICE_LIB_INTERPRETER_SURVIVORS_H

#include "sluice/Interpreter/Interpreter.h"

namespace sluice::interpreter {

/// The rows that are alive at a checkpoint.
struct Survivors {
  const StepBatch *before;
  const StepBatch *after;    ///< owned by the environment
  std::vector<int64_t> rows; ///< the old row of each new one
};

/// Asks the environment which rows of the batch are alive, and adds a batch of
/// them to the environment.
Survivors findSurvivors(const StepBatch &before, Environment &environment);

/// Returns the records of the rows that are alive, or of the outputs among
/// them.
RowData keepRecords(const RowData &records, const Survivors &survivors,
                    bool isOfOutputs);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_SURVIVORS_H
