//===- CommandLine.h - the command line of an executable ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_COMMANDLINE_H
#define SLUICE_RUNTIME_APP_COMMANDLINE_H

#include "runtime/base/ParseArguments.h"
#include "runtime/bench/BenchOptions.h"
#include "runtime/core/SamplingParams.h"
#include "runtime/core/Speculation.h"
#include "runtime/engine/EngineOptions.h"
#include "runtime/engine/PipelineOptions.h"
#include "runtime/engine/ServingOptions.h"
#include "runtime/serve/ServeOptions.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sluice::app {

/// The source of the prompt.
struct PromptOptions {
  enum class Source : uint8_t { Text, File, Tokens, TokensFile };
  Source source = Source::Text;
  std::string value; // text, ids, or path ("-": standard input)
  bool parseSpecial = true;
};

struct GenerateOptions {
  engine::EngineOptions engine;
  engine::PipelineOptions pipeline;
  PromptOptions prompt;
  int64_t predict = 128; // -1: until the context is full
  SamplingParams sampling;
  bool ignoreEos = false;
  std::vector<std::string> stopStrings;
  std::vector<int32_t> stopTokens;
  bool lastLogits = false;
  std::optional<int64_t> logProbs; // number of most probable tokens
  bool echo = false;
  bool json = false;
};

struct ScoreOptions {
  engine::EngineOptions engine;
  PromptOptions prompt;
  bool json = false;
};

struct StepsOptions {
  engine::EngineOptions
      engine; // contextLength: positions that each row attends to
  /// Ascending, from 1 on.
  std::vector<int64_t> rows{StepTimes::rowCounts.begin(),
                            StepTimes::rowCounts.end()};
  int64_t repeats = 9;
  bool json = false;
};

struct InfoOptions {
  engine::EngineOptions engine;
  bool json = false;
};

struct ServeCommandOptions {
  engine::EngineOptions engine;
  engine::PipelineOptions pipeline;
  engine::ServingOptions serving;
  serve::ServeOptions server;
};

struct BenchCommandOptions {
  engine::EngineOptions engine;
  engine::PipelineOptions pipeline;
  engine::ServingOptions serving;
  bench::BenchOptions bench;
};

using Command =
    std::variant<GenerateOptions, ScoreOptions, StepsOptions, InfoOptions,
                 ServeCommandOptions, BenchCommandOptions, ExitNow>;

/// Parses the arguments. Wrong usage gives an ExitNow with code 2 and one line.
/// `version` is the text that --version prints.
Command parseCommandLine(int argc, const char *const *argv,
                         const std::string &version);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_COMMANDLINE_H
