//===- sluice-run.cpp - interpreter and runner of modules -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"
#include "Native.h"
#include "runtime/base/StandardOutput.h"

#include <span>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::run;

/// Returns the arguments for the command line of an executable, which has no
/// argument for the module and has a command instead of --score.
static std::vector<std::string> toNativeArguments(int argc, char **argv,
                                                  const RunOptions &options) {
  std::vector<std::string> result = {options.score ? "score" : "generate"};
  bool isValue = false; // whether this is the value of the previous option
  bool moduleSeen = false;
  for (const std::string argument : std::span(argv + 1, argc - 1)) {
    bool isModule = !isValue && !moduleSeen && argument == options.module;
    isValue = !isValue && argument.starts_with("-") && argument != "-" &&
              argument.find('=') == std::string::npos && argument != "--json" &&
              argument != "--logits" && argument != "--ignore-eos" &&
              argument != "--score";
    moduleSeen |= isModule;
    if (!isModule && argument != "--score")
      result.push_back(argument);
  }
  return result;
}

/// Runs the module. Returns the exit status, which is that of the executable
/// for a module of the phase kernels.
static Expected<int> execute(int argc, char **argv, const RunOptions &options,
                             app::StreamClock::time_point start) {
  Expected<ParsedModule> parsed = parseModule(options.module);
  if (!parsed)
    return parsed.status();
  if (isKernels(*parsed->module))
    return runNatively(*parsed->module, toNativeArguments(argc, argv, options));
  Expected<std::unique_ptr<RunSession>> session =
      RunSession::open(parsed.take(), options);
  if (!session)
    return session.status();
  Status status = options.score ? score(**session, options)
                                : generate(**session, options, start);
  if (!status.ok())
    return status;
  return 0;
}

int main(int argc, char **argv) {
  app::StreamClock::time_point start = app::StreamClock::now();
  holdStandardDescriptors();
  int code = 0;
  std::optional<RunOptions> options = parseOptions(argc, argv, code);
  if (!options)
    return code;
  Expected<int> status = execute(argc, argv, *options, start);
  if (status)
    return *status;
  writeNote("sluice-run: " + status.status().message());
  return 1;
}
