//===- Explain.h - a table of the stages ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table that `sluice-compile --explain` prints.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_ANALYSIS_EXPLAIN_H
#define SLUICE_ANALYSIS_EXPLAIN_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace sluice {

/// A table of a module in phase `pipeline`: for each stage, and for the draft,
/// its place or its group's, its layers, the bytes of its weights, the
/// predicted time of a step of one and of eight rows, the memory that all at
/// its place need (weights, and a cache for the whole context) of what the
/// device has, its checkpoints, the longest stretch between them in a step of
/// as many prompt rows as it may have, and how many these are. Below it the
/// trip of a row from the head through the stages and back. Errors: no
/// pipeline, no cluster, a place that is not in it.
Expected<std::string> explainStages(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_ANALYSIS_EXPLAIN_H
