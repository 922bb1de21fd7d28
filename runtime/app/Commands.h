//===- Commands.h - the commands of an executable -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_COMMANDS_H
#define SLUICE_RUNTIME_APP_COMMANDS_H

#include "runtime/app/CommandLine.h"
#include "runtime/engine/Engine.h"

#include <chrono>

namespace sluice::app {

/// Each command writes its result to stdout and everything else to stderr, and
/// returns the process's exit status. It does not print its error; the caller
/// does, by explainFailure().
Expected<int> runGenerate(const engine::ProgramImage &image,
                          const GenerateOptions &options,
                          std::chrono::steady_clock::time_point programStart);
Expected<int> runScore(const engine::ProgramImage &image,
                       const ScoreOptions &options);
Expected<int> runSteps(const engine::ProgramImage &image,
                       const StepsOptions &options);
Expected<int> runInfo(const engine::ProgramImage &image,
                      const InfoOptions &options);
Expected<int> runServe(const engine::ProgramImage &image,
                       const ServeCommandOptions &options);
Expected<int> runBench(const engine::ProgramImage &image,
                       const BenchCommandOptions &options);

/// Returns the text that --version prints.
std::string versionText();

/// Writes why a command has failed, unless the user has interrupted it. Returns
/// the process's exit status.
int explainFailure(const Status &reason);

/// Does all of main(): parses the command line, runs the command, and writes an
/// error as one line on stderr. Returns the exit status.
int runProgram(const engine::ProgramImage &image, int argc,
               const char *const *argv);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_COMMANDS_H
