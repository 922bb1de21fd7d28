//===- CommandLine.h - what the tools do with their command lines ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_COMMANDLINE_H
#define SLUICE_TOOLS_COMMANDLINE_H

#include "runtime/base/InputFiles.h"
#include "runtime/base/Status.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace sluice {

/// Exit statuses of the tools: wrong usage is told apart from all else.
enum ExitCode : int { exitSuccess = 0, exitFailure = 1, exitUsage = 2 };

/// What --version prints: "sluice-opt 0.1.0, LLVM 22.1.0".
inline std::string versionOf(llvm::StringRef tool) {
  return (tool + " " SLUICE_VERSION ", LLVM " LLVM_VERSION_STRING).str();
}

/// Sets that up for a tool whose options are LLVM's.
inline void setVersion(llvm::StringRef tool) {
  llvm::cl::SetVersionPrinter([text = versionOf(tool)](llvm::raw_ostream &out) {
    out << text << '\n';
  });
}

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

/// For tools of MLIR's own main, which empties what -o names before it reads
/// anything: checks that this is no file that another argument names, be it by
/// itself or inside an option
/// ("--sluice-partition-stages=cluster-file=c.yaml").
inline Status checkOutput(int argc, char **argv) {
  std::string output;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (llvm::StringRef name = word.ltrim('-');
        word.starts_with("-") && (name == "o" || name.starts_with("o="))) {
      output = name == "o" && i + 1 < argc ? argv[++i] : name.drop_front(2);
      continue;
    }
    noteInput(word.str());
    llvm::SmallVector<llvm::StringRef> pieces;
    llvm::SplitString(word, pieces, "= ,{}\"'");
    for (llvm::StringRef piece : pieces)
      noteInput(piece.str());
  }
  return output == "-" ? Status() : checkIsNoInput(output);
}

/// Prints an error as every tool does: one line.
inline int complain(llvm::StringRef tool, const Status &status,
                    int exitCode = exitFailure) {
  llvm::errs() << tool << ": error: " << status.message() << '\n';
  return exitCode;
}

} // namespace sluice

#endif // SLUICE_TOOLS_COMMANDLINE_H
