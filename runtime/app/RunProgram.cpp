//===- RunProgram.cpp - from arguments to an exit status ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/Commands.h"
#include "runtime/base/Guarded.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/StandardOutput.h"
#include "runtime/comm/mpi/MpiLaunch.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/device/cuda/driver/Driver.h"

#include <algorithm>
#include <cerrno> // program_invocation_short_name
#include <cstdio>
#include <cstdlib>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

Expected<int> runCommand(const ProgramImage &image, const Command &command,
                         std::chrono::steady_clock::time_point start) {
  return guarded([&] {
    if (const auto *generate = std::get_if<GenerateOptions>(&command))
      return runGenerate(image, *generate, start);
    if (const auto *score = std::get_if<ScoreOptions>(&command))
      return runScore(image, *score);
    if (const auto *steps = std::get_if<StepsOptions>(&command))
      return runSteps(image, *steps);
    if (const auto *serve = std::get_if<ServeCommandOptions>(&command))
      return runServe(image, *serve);
    if (const auto *bench = std::get_if<BenchCommandOptions>(&command))
      return runBench(image, *bench);
    return runInfo(image, std::get<InfoOptions>(command));
  });
}

/// Returns the process's exit status. If a device has been given up, ends the
/// process here, because the libraries' exit handlers would wait for the
/// device.
int endWith(int status) {
  if (cuda::Device::anyGivenUp()) {
    std::fflush(nullptr);
    std::_Exit(status);
  }
  return status;
}

/// Returns whether this is a single process, or the first of those that MPI has
/// started with the same command line.
bool speaksForItsJob() {
  Expected<std::optional<comm::MpiLaunch>> launch = comm::detectMpiLaunch();
  return !launch || !*launch || (*launch)->rank == 0;
}

/// Warns if there are more threads than cores: each step then waits for threads
/// that share a core.
void warnOfThreads(const Command &command) {
  const int64_t threads = std::visit(
      [](const auto &options) -> int64_t {
        if constexpr (requires { options.engine; })
          return options.engine.threads;
        return 0;
      },
      command);
  const int64_t cores = cpu::defaultThreadCount();
  if (threads > cores && speaksForItsJob())
    writeNote(std::string(program_invocation_short_name) + ": warning: -t " +
              std::to_string(threads) + ": this machine has " +
              std::to_string(cores) + (cores == 1 ? " core" : " cores") +
              " for this process; threads beyond that slow it down");
}

} // namespace

std::string app::versionText() {
  return "sluice " SLUICE_VERSION ", program interface " +
         std::to_string(SLUICE_ABI_VERSION);
}

int app::explainFailure(const Status &reason) {
  if (interrupted()) {
    writeNote(std::string(program_invocation_short_name) + ": interrupted");
    return interruptedExitCode();
  }
  writeError(reason.message());
  return 1;
}

static int runCommandLine(const ProgramImage &image, int argc,
                          const char *const *argv) {
  auto start = std::chrono::steady_clock::now();
  Command command = parseCommandLine(argc, argv, versionText());
  if (const auto *exit = std::get_if<ExitNow>(&command)) {
    if (!speaksForItsJob())
      return exit->code;
    if (!exit->error.empty())
      writeError(exit->error);
    if (Status s = writeOutput(exit->output); !s.ok()) {
      writeError(s.message());
      return 1;
    }
    return exit->code;
  }
  warnOfThreads(command);
  Expected<int> code = runCommand(image, command, start);
  return endWith(code ? *code : explainFailure(code.status()));
}

int app::runProgram(const ProgramImage &image, int argc,
                    const char *const *argv) {
  holdStandardDescriptors();
  catchInterrupts();
  Expected<int> code = guarded(
      [&]() -> Expected<int> { return runCommandLine(image, argc, argv); });
  return code ? *code : explainFailure(code.status());
}
