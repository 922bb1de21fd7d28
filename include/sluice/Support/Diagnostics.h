//===- Diagnostics.h - MLIR diagnostics as a Status -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_SUPPORT_DIAGNOSTICS_H
#define SLUICE_SUPPORT_DIAGNOSTICS_H

#include "runtime/base/Status.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace sluice {

/// A diagnostic in one line, with its place in a file where it has one.
inline std::string toLine(mlir::Diagnostic &diagnostic) {
  std::string line;
  llvm::raw_string_ostream stream(line);
  if (auto file =
          diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>()) {
    stream << file.getFilename().getValue() << ":";
    // A module that the file does not spell out has no line.
    if (file.getLine() != 0)
      stream << file.getLine() << ":" << file.getColumn() << ":";
    stream << " ";
  }
  // A tool's log has lines of its own.
  std::string text = diagnostic.str();
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  llvm::interleave(lines, stream, " ");
  return line;
}

/// While it lives, keeps the first error that MLIR reports in a context, so
/// that whoever called MLIR can return it as a Status. Warnings and remarks go
/// on to the handlers below.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::failure();
          if (message.empty())
            message = toLine(diagnostic);
          return mlir::success();
        }) {}

  /// The first error, or one that says `fallback` where none was reported.
  Status status(const char *fallback) const {
    return Status::error(message.empty() ? fallback : message);
  }

private:
  std::string message;
  mlir::ScopedDiagnosticHandler handler;
};

/// While it lives, prints the warnings of a context as lines of `tool`: MLIR
/// itself prints errors alone.
class PrintedWarnings {
public:
  PrintedWarnings(mlir::MLIRContext *context, llvm::StringRef tool)
      : handler(context, [tool = tool.str()](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Warning)
            return mlir::failure();
          llvm::errs() << tool << ": warning: " << toLine(diagnostic) << '\n';
          return mlir::success();
        }) {}

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sluice

#endif // SLUICE_SUPPORT_DIAGNOSTICS_H
