//===- ExplainLaunches.h - tables of the launches of steps ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_EXPLAINLAUNCHES_H
#define SLUICE_TARGET_EXPLAINLAUNCHES_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace sluice {

/// Returns tables for each program for CUDA of a module of phase kernels.
/// Programs with equal tables, such as those of a group's members, share
/// theirs.
///
/// The first table counts the launches of a step of one row, and of a step of
/// as many rows as a prompt may have in one. For the step of one row it also
/// says how many launches are of generated kernels, how many bytes of weights
/// they read, and which products they are. It has a line for each kind of
/// layer, with the numbers of one layer (layers of one kind launch the same);
/// lines for the work before and behind the layers; and a line for the whole
/// step. A list of the launches of each line follows (StepLaunches.h).
///
/// Fails where buildDescriptor() and listLaunches() fail.
Expected<std::string> explainLaunches(mlir::ModuleOp kernels);

} // namespace sluice

#endif // SLUICE_TARGET_EXPLAINLAUNCHES_H
