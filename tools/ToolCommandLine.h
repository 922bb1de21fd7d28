//===- ToolCommandLine.h - the command lines of the tools -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_TOOLCOMMANDLINE_H
#define SLUICE_TOOLS_TOOLCOMMANDLINE_H

#include "runtime/base/Status.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace sluice {

/// Exit statuses of the tools. Wrong usage has a status of its own.
enum ExitCode : int { exitSuccess = 0, exitFailure = 1, exitUsage = 2 };

/// Returns the text of --version: "sluice-opt 0.1.0, LLVM 22.1.0".
std::string versionOf(llvm::StringRef tool);

/// Makes --version print that text, for a tool whose options are LLVM's.
void setVersion(llvm::StringRef tool);

/// Wraps the help of a tool that shows few options at 80 columns. Call it after
/// all options are registered.
void wrapHelp();

/// Parses the registered options, which are all options of the tool. On wrong
/// usage, reports one line on stderr and returns false. The line names the
/// first unknown word and the most similar option, or else is LLVM's first
/// error.
bool parseCommandLine(llvm::StringRef tool, int argc, char **argv,
                      llvm::StringRef overview);

/// Makes later contexts print diagnostics without the op, which can be a whole
/// model, unless the user gives --mlir-print-op-on-diagnostic. Call it after
/// MLIR's options of contexts are registered and before they are parsed.
void shortenDiagnostics();

/// Checks that the file of -o is not named by another argument, either alone or
/// inside an option ("--sluice-partition-stages=cluster-file=c.yaml"). Tools
/// that use MLIR's own main need this, since it truncates the output before it
/// reads any input.
Status checkOutput(int argc, char **argv);

/// Prints an error in one line, as every tool does, and returns `exitCode`.
int complain(llvm::StringRef tool, const Status &status,
             int exitCode = exitFailure);

} // namespace sluice

#endif // SLUICE_TOOLS_TOOLCOMMANDLINE_H
