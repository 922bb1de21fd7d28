//===- Parts.h - execution of a model part by part ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_LIB_INTERPRETER_PARTS_H
#define SLUICE_LIB_INTERPRETER_PARTS_H

#include "sluice/Interpreter/Interpreter.h"

namespace sluice::interpreter {

/// The result of a part: its rows, and the batch that is left.
struct PartResult {
  const StepBatch *batch = nullptr;
  std::shared_ptr<const RowData> rows;
};

/// Executes one step of a model that consists of one `sluice.model`, of
/// `sluice.stage`s in order, of the `sluice.worker`s and `sluice.group`s of all
/// ranks, or of `sluice.step`s. Errors name the op. Fails if workers wait for
/// each other for ever.
Expected<PartResult> evalParts(const std::vector<mlir::Operation *> &parts,
                               const StepBatch &batch,
                               Environment &environment);

} // namespace sluice::interpreter

#endif // SLUICE_LIB_INTERPRETER_PARTS_H
