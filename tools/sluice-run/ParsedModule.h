//===- ParsedModule.h - a module read from a file -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_RUN_PARSEDMODULE_H
#define SLUICE_TOOLS_SLUICE_RUN_PARSEDMODULE_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace sluice::run {

/// A module and its context.
struct ParsedModule {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Parses and verifies the module at `path`; "-" is standard input. An error is
/// one line: that the file cannot be read, or the first error that MLIR
/// reports.
Expected<ParsedModule> parseModule(const std::string &path);

} // namespace sluice::run

#endif // SLUICE_TOOLS_SLUICE_RUN_PARSEDMODULE_H
