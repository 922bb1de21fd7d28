//===- CommandLine.h - what users ask an executable for -------------------===//
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

/// Where the model is computed.
enum class DeviceOption : uint8_t {
  Auto, // a GPU, where the executable has code for it and there is one
  Cpu,
  Cuda
};

/// When weights are compared with what they were.
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
  int64_t prefillChunk = 512; // rows of a step while the prompt is read
  int64_t batchMates = 0;     // other sequences in every step
  DeviceOption device = DeviceOption::Auto;
  CacheType cacheType = CacheType::Default;
  bool fastMathBatch = false; // cuda::CudaExecutorLimits has it
  std::string modelDir;
  VerifyOption verify = VerifyOption::Background;
  std::optional<uint64_t> randomWeights; // a seed: no model's files
};

/// Where the prompt comes from.
struct PromptOptions {
  enum class Source : uint8_t { Text, File, Tokens, TokensFile };
  Source source = Source::Text;
  std::string value; // the text, the ids, or a path; path "-": standard input
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
  std::optional<int64_t> logProbs; // how many of the most probable tokens
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

/// Reads the arguments. Wrong usage is an ExitNow with code 2 and one line.
/// `version` is what --version prints.
Command parseCommandLine(int argc, const char *const *argv,
                         const std::string &version);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_COMMANDLINE_H
