//===- ParseArguments.h - parsing of command lines by CLI11 ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_PARSEARGUMENTS_H
#define SLUICE_RUNTIME_BASE_PARSEARGUMENTS_H

#include <optional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace sluice {

/// A request to end the process: with a text for stdout (help), or with a usage
/// error as one line for stderr.
struct ExitNow {
  int code = 0;
  std::string output;
  std::string error;
};

/// Returns a usage error; `command`, as "demo serve", is the one whose help to
/// read.
ExitNow wrongUsage(const std::string &message, const std::string &command);

/// Returns the message for an option that is not among `names`, which have no
/// dashes: "unknown option '--prot', did you mean '--port'?".
std::string unknownOption(const std::string &word,
                          std::span<const std::string> names);

/// Parses the arguments. Returns how the process should end, if help or the
/// version was requested or the usage is wrong. If there are several mistakes,
/// reports the first unknown word, with a suggestion.
std::optional<ExitNow> parseArguments(CLI::App &app, int argc,
                                      const char *const *argv);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_PARSEARGUMENTS_H
