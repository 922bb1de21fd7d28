//===- CommandLine.h - what the tools do with their command lines ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_COMMANDLINE_H
#define SLUICE_TOOLS_COMMANDLINE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace sluice {

/// Exit statuses of the tools: wrong usage is told apart from all else.
enum ExitCode : int { exitSuccess = 0, exitFailure = 1, exitUsage = 2 };

/// Parses the registered options. Wrong usage is reported in one line on
/// stderr (LLVM would write one for each thing it found) and returns false;
/// the process should then end with exitUsage.
inline bool parseCommandLine(int argc, char **argv, llvm::StringRef overview) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    return true;
  llvm::errs() << llvm::StringRef(message).ltrim().split('\n').first << '\n';
  return false;
}

} // namespace sluice

#endif // SLUICE_TOOLS_COMMANDLINE_H
