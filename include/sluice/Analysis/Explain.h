//===- Explain.h - the table of a pipeline's stages -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the table of stages that `sluice-compile --explain` prints.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_ANALYSIS_EXPLAIN_H
#define SLUICE_ANALYSIS_EXPLAIN_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace sluice {

/// Returns a table of a module in phase `pipeline`. It has a line for each
/// stage and one for the draft, with these columns:
///   - the place, or the places of the group's members;
///   - the layers;
///   - the bytes of the weights;
///   - the predicted time of a step of one row, and of eight rows;
///   - the memory that everything at this place needs (weights, and a cache for
///     the whole context), and the memory that the device has;
///   - the number of checkpoints;
///   - the longest stretch between checkpoints, in a step of as many prompt
///     rows as the stage allows;
///   - that number of rows.
/// Below the table is the time of a row's trip from the head through the stages
/// and back. Fails if the module has no pipeline or no cluster, or if a place
/// is not in the cluster.
Expected<std::string> explainStages(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_ANALYSIS_EXPLAIN_H
