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

/// Tables of a module of phase kernels, for each program for Cuda; programs
/// with equal ones, as members of a group are, share theirs. The first: how
/// many launches a step of one row has, and one of the graph for as many rows
/// as a prompt may have in a step; how many of the former are of generated
/// kernels, which bytes of weights they read, and which products they are. A
/// line for each kind of layer, of layers that launch the same, with the
/// numbers of one of them; lines for what stands before and behind the layers,
/// and for the whole step. Behind it a list of the launches of each of these
/// lines. See StepLaunches.h. Errors: those of buildDescriptor() and
/// listLaunches().
Expected<std::string> explainLaunches(mlir::ModuleOp kernels);

} // namespace sluice

#endif // SLUICE_TARGET_EXPLAINLAUNCHES_H
