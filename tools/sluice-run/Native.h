//===- Native.h - native execution of the phase kernels -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_NATIVE_H
#define SLUICE_TOOLS_SLUICE_RUN_NATIVE_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>
#include <string>

namespace sluice::run {

/// Returns whether the module is in the phase `kernels`, which is run natively.
bool isKernels(mlir::ModuleOp module);

/// Compiles a module of the phase `kernels` into a temporary executable, runs
/// its command line with `arguments` and returns its exit status. Fails if the
/// module has no program for a CPU, or if it cannot be compiled or started.
Expected<int> runNatively(mlir::ModuleOp module,
                          std::span<const std::string> arguments);

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_NATIVE_H
