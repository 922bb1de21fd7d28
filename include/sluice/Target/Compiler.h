//===- Compiler.h - from a module to any later phase ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TARGET_COMPILER_H
#define SLUICE_TARGET_COMPILER_H

#include "runtime/base/Status.h"
#include "sluice/Target/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// The phases of a compilation, in order.
enum class Phase { Model, Kernels, Object, Executable };

std::string_view phaseName(Phase phase);
std::optional<Phase> parsePhase(std::string_view name);

struct CompileOptions {
  Phase target = Phase::Executable;
  CpuTarget cpu;
  /// Executable only: put the packed weights inside.
  bool embedWeights = false;
  /// Where to also write each phase that is passed through, as 1-model.mlir and
  /// so on; the folder is made. Empty: nowhere.
  std::string dumpPhasesTo;
  /// Executable only: the path of libsluice_runtime.a.
  std::string runtimeArchive;
  /// Sets every pass manager up (printing, timing); may be empty.
  std::function<mlir::LogicalResult(mlir::PassManager &)> configurePasses;
};

/// Takes `module`, in phase model or kernels, to `options.target` and writes
/// that to `output` ("-" is stdout; not for executables). The module is changed
/// on the way. Nothing is left at `output` after an error.
Status compile(mlir::ModuleOp module, const CompileOptions &options,
               const std::string &output);

} // namespace sluice

#endif // SLUICE_TARGET_COMPILER_H
