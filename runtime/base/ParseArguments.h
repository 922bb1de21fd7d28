//===- ParseArguments.h - command lines that CLI11 reads ------------------===//
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

/// The process ends now: text for stdout (help) or a usage error, one line for
/// stderr.
struct ExitNow {
  int code = 0;
  std::string output;
  std::string error;
};

/// Wrong usage of what `command`, as "demo serve", has the help about.
ExitNow wrongUsage(const std::string &message, const std::string &command);

/// What is wrong with an option that is not among `names`, which are without
/// dashes: "unknown option '--prot', did you mean '--port'?".
std::string unknownOption(const std::string &word,
                          std::span<const std::string> names);

/// Reads the arguments. Where the process should end now, this says how: help
/// or the version was asked for, or the usage is wrong. Of several mistakes the
/// first word that nothing takes is reported, with the option or the command
/// that it may have meant.
std::optional<ExitNow> parseArguments(CLI::App &app, int argc,
                                      const char *const *argv);

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_PARSEARGUMENTS_H
