//===- Diagnostics.h - MLIR diagnostics as one-line messages --------------===//
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

/// Returns a diagnostic as one line, with its location in a file if it has one.
inline std::string toLine(mlir::Diagnostic &diagnostic) {
  std::string line;
  llvm::raw_string_ostream stream(line);
  if (auto file =
          diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>()) {
    stream << file.getFilename().getValue() << ":";
    // The location has no line if the file is not the module's text.
    if (file.getLine() != 0)
      stream << file.getLine() << ":" << file.getColumn() << ":";
    stream << " ";
  }
  // The message may quote a tool's log, which has several lines.
  std::string text = diagnostic.str();
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  llvm::interleave(lines, stream, " ");
  return line;
}

/// Catches the errors that MLIR reports in a context during its lifetime and
/// keeps the first, so that a caller of MLIR can return it as a Status.
/// Warnings and remarks go to the handlers registered before.
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

  /// Returns the first error, or an error that says `fallback` if none was
  /// reported.
  Status status(const char *fallback) const {
    return Status::error(message.empty() ? fallback : message);
  }

private:
  std::string message;
  mlir::ScopedDiagnosticHandler handler;
};

/// Prints the warnings of a context as lines of `tool` during its lifetime,
/// since MLIR by itself prints errors only.
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
