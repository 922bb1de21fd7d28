//===- ExplainTasks.h - tables of the tasks of steps on a CPU -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_EXPLAINTASKS_H
#define SLUICE_TARGET_EXPLAINTASKS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace sluice {

/// Returns tables for each step for a CPU of a module of phase plan. Steps with
/// equal tables, such as those of a group's members, share theirs.
///
/// The first table counts the tasks of a step, how many of them are row loops,
/// how often all threads wait for each other, the bytes of weights that a step
/// of one row reads, and which products it computes. It has a line for each
/// kind of layer, with the numbers of one layer; lines for the tasks before and
/// behind the layers; and a line for the whole step. A list of the tasks of
/// each line follows.
std::string explainTasks(mlir::ModuleOp plan);

} // namespace sluice

#endif // SLUICE_TARGET_EXPLAINTASKS_H
