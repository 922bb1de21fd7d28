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
/// its place, its layers, the bytes of its weights, the predicted time of a
/// step of one and of eight rows, the memory it needs (weights, and a cache for
/// the whole context) of what its device has, and its checkpoints with the most
/// rows of a step that keeps their latency. Below it what that makes of a row's
/// trip. Errors: no pipeline, no cluster, a place that is not in it.
Expected<std::string> explainStages(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_ANALYSIS_EXPLAIN_H
