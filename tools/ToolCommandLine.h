//===- ToolCommandLine.h - what the tools do with their command lines -----===//
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

/// Exit statuses of the tools: wrong usage is told apart from all else.
enum ExitCode : int { exitSuccess = 0, exitFailure = 1, exitUsage = 2 };

/// What --version prints: "sluice-opt 0.1.0, LLVM 22.1.0".
std::string versionOf(llvm::StringRef tool);

/// Sets that up for a tool whose options are LLVM's.
void setVersion(llvm::StringRef tool);

/// Keeps the help of a tool that shows few options to 80 columns. Called when
/// all are registered.
void wrapHelp();

/// Parses the registered options, which are all that the tool takes. Wrong
/// usage is reported in one line on stderr and returns false: the first word
/// that is not known, with the option that it may have meant; else the first
/// thing that LLVM finds wrong.
bool parseCommandLine(llvm::StringRef tool, int argc, char **argv,
                      llvm::StringRef overview);

/// Makes diagnostics of contexts that come later end with their source line:
/// the op that one is about, which can be a whole model, is printed with
/// --mlir-print-op-on-diagnostic alone. Called when MLIR's options of contexts
/// are registered, before they are parsed.
void shortenDiagnostics();

/// For tools of MLIR's own main, which empties what -o names before it reads
/// anything: checks that this is no file that another argument names, be it by
/// itself or inside an option
/// ("--sluice-partition-stages=cluster-file=c.yaml").
Status checkOutput(int argc, char **argv);

/// Prints an error as every tool does: one line.
int complain(llvm::StringRef tool, const Status &status,
             int exitCode = exitFailure);

} // namespace sluice

#endif // SLUICE_TOOLS_TOOLCOMMANDLINE_H
