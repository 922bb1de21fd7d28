//===- CommandLine.h - the command line of an executable ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_COMMANDLINE_H
#define SLUICE_RUNTIME_APP_COMMANDLINE_H

#include "runtime/app/CacheStorage.h"
#include "runtime/app/PipelineOptions.h"
#include "runtime/app/ServingOptions.h"
#include "runtime/base/ParseArguments.h"
#include "runtime/bench/BenchOptions.h"
#include "runtime/core/SamplingParams.h"
#include "runtime/core/Speculation.h"
#include "runtime/device/cpu/CorePlan.h"
#include "runtime/serve/ServeOptions.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sluice::app {

/// The device that computes the model.
enum class DeviceOption : uint8_t {
  Auto, // a GPU if there is one and the executable has code for it
  Cpu,
  Cuda
};

/// When weights are checked against their digests.
enum class VerifyOption : uint8_t {
  Background, // beside the steps
  Full,       // before the first step
  Off
};

/// How to load and run the model.
struct EngineOptions {
  int64_t threads = 0; // 0: the CPU's cores
  cpu::Pinning pinning = cpu::Pinning::Auto;
  int64_t contextLength = 0;  // 0: the model's
  int64_t prefillChunk = 512; // rows of a step while the prompt is computed
  int64_t batchMates = 0;     // other sequences in every step
  DeviceOption device = DeviceOption::Auto;
  CacheType cacheType = CacheType::Default;
  bool fastMathBatch = false; // see cuda::CudaExecutorLimits
  std::string modelDir;
  VerifyOption verify = VerifyOption::Background;
  std::optional<uint64_t> randomWeights; // seed; needs no files of the model
};

/// The source of the prompt.
struct PromptOptions {
  enum class Source : uint8_t { Text, File, Tokens, TokensFile };
  Source source = Source::Text;
  std::string value; // text, ids, or path ("-": standard input)
  bool parseSpecial = true;
};

struct GenerateOptions {
  EngineOptions engine;
  PipelineOptions pipeline;
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
  EngineOptions engine;
  PromptOptions prompt;
  bool json = false;
};

struct StepsOptions {
  EngineOptions engine; // contextLength: positions that each row attends to
  /// Ascending, from 1 on.
  std::vector<int64_t> rows{StepTimes::rowCounts.begin(),
                            StepTimes::rowCounts.end()};
  int64_t repeats = 9;
  bool json = false;
};

struct InfoOptions {
  EngineOptions engine;
  bool json = false;
};

struct ServeCommandOptions {
  EngineOptions engine;
  PipelineOptions pipeline;
  ServingOptions serving;
  serve::ServeOptions server;
};

struct BenchCommandOptions {
  EngineOptions engine;
  PipelineOptions pipeline;
  ServingOptions serving;
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
