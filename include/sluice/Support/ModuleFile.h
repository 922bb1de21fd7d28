//===- ModuleFile.h - modules read from files -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_SUPPORT_MODULEFILE_H
#define SLUICE_SUPPORT_MODULEFILE_H

#include "runtime/base/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace sluice {

/// Whether `path` is a module, and not a model's own files: standard input
/// ("-"), what is called .mlir, and a file of MLIR's bytecode whatever it is
/// called.
bool isModuleFile(const std::string &path);

/// Parses and verifies the module at `path`, text or bytecode; "-" is standard
/// input. Relative paths of files that the module names begin in its folder,
/// until the next module is read into `context`: makePathsAbsolute() keeps them
/// for longer. The dialects it needs are registered in `context`. Errors are
/// one line: the file cannot be read, or what MLIR reports first.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readModuleFile(const std::string &path, mlir::MLIRContext *context);

/// The same for tools whose module MLIR's own drivers read from `path`, in
/// contexts that `registry` is for.
void setModuleFolder(mlir::DialectRegistry &registry, const std::string &path);

/// Names the module's files by absolute paths, for a module that is written to
/// another folder or becomes part of another module.
void makePathsAbsolute(mlir::ModuleOp module);

/// The content of a file, or of standard input for "-".
Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInput(const std::string &path);

} // namespace sluice

#endif // SLUICE_SUPPORT_MODULEFILE_H
