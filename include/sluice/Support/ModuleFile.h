//===- ModuleFile.h - reader of module files ------------------------------===//
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

/// Returns whether `path` is a module rather than the files of a model. A
/// module is standard input ("-"), a file called *.mlir, or a file of MLIR
/// bytecode under any name.
bool isModuleFile(const std::string &path);

/// Parses and verifies the module at `path`, text or bytecode; "-" is standard
/// input. Relative paths of files that the module names are resolved against
/// its folder until the next module is read into `context`; makePathsAbsolute()
/// makes that permanent. The dialects that the module needs must be registered
/// in `context`. An error is one line: that the file cannot be read, or the
/// first error that MLIR reports.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readModuleFile(const std::string &path, mlir::MLIRContext *context);

/// Makes relative paths begin in the folder of `path`, like readModuleFile(),
/// for tools whose module is read by one of MLIR's drivers. It applies to each
/// context that loads its dialects from `registry`.
void setModuleFolder(mlir::DialectRegistry &registry, const std::string &path);

/// Makes the paths of the files that the module names absolute. A module needs
/// this before it is written to another folder or becomes part of another
/// module.
void makePathsAbsolute(mlir::ModuleOp module);

/// Returns the content of a file, or of standard input for "-".
Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInput(const std::string &path);

} // namespace sluice

#endif // SLUICE_SUPPORT_MODULEFILE_H
