//===- Parts.h - executes a model in its parts ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_PARTS_H
#define SLUICE_LIB_INTERPRETER_PARTS_H

#include "sluice/Interpreter/Interpreter.h"

namespace sluice::interpreter {

/// What a part passes on: rows, and what is left of the batch.
struct PartResult {
  const StepBatch *batch = nullptr;
  std::shared_ptr<const RowData> rows;
};

/// Executes one step of a model in whatever parts it is: one `sluice.model`,
/// `sluice.stage`s in order, or the `sluice.worker`s and `sluice.group`s of all
/// ranks. Errors name
/// the op; workers that wait for each other for ever are one.
Expected<PartResult> evalParts(const std::vector<mlir::Operation *> &parts,
                               const StepBatch &batch,
                               Environment &environment);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_PARTS_H
