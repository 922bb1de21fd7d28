//===- sluice-bench.cpp - measures servers with the OpenAI API ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends many requests to any server with the OpenAI API and reports how long
// they took, so that other servers are measured by the same client as Sluice's.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/HelpFormatter.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/ParseArguments.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/bench/Bench.h"
#include "runtime/bench/TargetOptions.h"

#include <CLI/CLI.hpp>

using namespace sluice;

static constexpr const char *name = "sluice-bench";

static std::optional<ExitNow> parseOptions(int argc, char **argv,
                                           bench::TargetOptions &options) {
  CLI::App app("Sends many requests to a server with the OpenAI API, and "
               "reports how long they took.",
               name);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", std::string(name) + " " SLUICE_VERSION);
  bench::addTargetOptions(app, options);
  if (std::optional<ExitNow> exit = parseArguments(app, argc, argv))
    return exit;
  if (Status settled = bench::settleTargetOptions(app, options); !settled.ok())
    return wrongUsage(settled.message(), name);
  return std::nullopt;
}

/// Returns the exit status.
static Expected<int> measure(const bench::TargetOptions &options) {
  Expected<std::unique_ptr<bench::Backend>> backend = bench::makeHttpBackend(
      options.http, options.bench.prompt, options.bench.workload.seed);
  if (!backend)
    return backend.status();
  bench::BenchHooks hooks;
  hooks.shouldStop = interrupted;
  hooks.progress = writeNote;
  Expected<bench::BenchResult> result =
      bench::runBench(options.bench, **backend, hooks);
  if (!result)
    return result.status();
  SLUICE_RETURN_IF_ERROR(writeOutput(result->report));
  return interrupted() ? interruptedExitCode() : 0;
}

/// Writes what there is to say instead of a measurement.
static int leave(const ExitNow &exit) {
  const Status written =
      exit.output.empty() ? Status() : writeOutput(exit.output);
  for (const std::string &error : {exit.error, written.message()})
    if (!error.empty())
      writeNote(std::string(name) + ": " + error);
  return written.ok() ? exit.code : 1;
}

int main(int argc, char **argv) {
  holdStandardDescriptors();
  bench::TargetOptions options;
  if (std::optional<ExitNow> exit = parseOptions(argc, argv, options))
    return leave(*exit);
  catchInterrupts();
  Expected<int> code = measure(options);
  if (code)
    return *code;
  writeNote(std::string(name) + ": " + code.status().message());
  return 1;
}
