//===- CommandLine.cpp - the command line of an executable ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/CommandLine.h"

#include "runtime/app/PipelineFlags.h"
#include "runtime/app/ServingFlags.h"
#include "runtime/app/TokenList.h"
#include "runtime/base/HelpFormatter.h"
#include "runtime/base/OptionChecks.h"
#include "runtime/base/ParseArguments.h"
#include "runtime/cluster/RowCurve.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <CLI/CLI.hpp>
#include <random>

using namespace sluice;
using namespace sluice::app;
using namespace sluice::engine;

namespace {

constexpr int64_t maxCount = (int64_t(1) << 31) - 1;

void addPromptOptions(CLI::App &command, PromptOptions &prompt) {
  using Source = PromptOptions::Source;
  CLI::Option_group *group = command.add_option_group(
      "Prompt", "what the model is given, exactly one of these");
  auto add = [&](const char *name, const char *type, Source source,
                 const char *help) {
    group
        ->add_option_function<std::string>(
            name,
            [&prompt, source](const std::string &value) {
              prompt.source = source;
              prompt.value = value;
            },
            help)
        ->type_name(type);
  };
  add("-p,--prompt", "PROMPT", Source::Text, "A text");
  add("-f,--file", "FILE", Source::File,
      "A file of text, used as it is; - is standard input");
  add("--tokens", "IDS", Source::Tokens, "Token ids: 5,6,7");
  add("--tokens-file", "FILE", Source::TokensFile,
      "A file of token ids, separated by commas, blanks or newlines");
  group->require_option(1);
  command.add_flag_callback(
      "--no-special", [&prompt] { prompt.parseSpecial = false; },
      "Take the spelling of a special token in the text as text");
}

void addVerifyOption(CLI::App &command, EngineOptions &engine) {
  addChoice<VerifyOption>(
      command, "--verify", engine.verify,
      {{"full", VerifyOption::Full},
       {"background", VerifyOption::Background},
       {"off", VerifyOption::Off}},
      "WHEN",
      "When all bytes of the weights are compared with what they were: "
      "full: before the first step; background: beside the steps, from the "
      "start on; off: never. serve goes on with it as long as it runs. "
      "Default: background");
}

void addEngineOptions(CLI::App &command, EngineOptions &engine) {
  command
      .add_option(
          "-t,--threads", engine.threads,
          "Threads; default: one for each core that this process may use")
      ->type_name("N")
      ->check(within<int64_t>(1, cpu::maxThreads));
  addChoice<cpu::Pinning>(
      command, "--cpu-pin", engine.pinning,
      {{"auto", cpu::Pinning::Auto},
       {"on", cpu::Pinning::On},
       {"off", cpu::Pinning::Off}},
      "WHEN",
      "Whether each thread stays on a core of its own: on, off, or auto: "
      "where there are as many threads as cores. Default: auto");
  command
      .add_option("-c,--ctx-size", engine.contextLength,
                  "Tokens of prompt and output together; default: the model's")
      ->type_name("N")
      ->check(within<int64_t>(1, maxCount));
  command
      .add_option("-b,--prefill-chunk", engine.prefillChunk,
                  "Prompt tokens computed in one step")
      ->type_name("N")
      ->check(within<int64_t>(1, 65536))
      ->capture_default_str();
  addChoice<DeviceOption>(
      command, "--device", engine.device,
      {{"auto", DeviceOption::Auto},
       {"cpu", DeviceOption::Cpu},
       {"cuda", DeviceOption::Cuda}},
      "DEVICE",
      "Compute on cpu or cuda, a GPU; auto: on a GPU where the program has "
      "code for it and there is one. Default: auto");
  addChoice<CacheType>(
      command, "--cache-type", engine.cacheType,
      {{"f32", CacheType::F32},
       {"q8_0", CacheType::Q8_0},
       {"f16", CacheType::F16},
       {"bf16", CacheType::BF16},
       {"fp8", CacheType::FP8}},
      "FORMAT",
      "Keys and values in the cache: on the CPU as f32 or q8_0, whose 8-bit "
      "integers take little more than a quarter of the memory and round, so "
      "tokens can differ; on a GPU as f16, bf16 or fp8. Default: f32; f16");
  command.add_flag(
      "--fast-math-batch", engine.fastMathBatch,
      "On a GPU: products of steps of more than 128 rows by cuBLASLt. Tokens "
      "may then depend on what shares a step");
  command
      .add_option("--model-dir", engine.modelDir,
                  "The folder of the model's files; default: where they were "
                  "at compile time, then the program's folder")
      ->type_name("DIR")
      ->envname("SLUICE_MODEL_DIR");
  addVerifyOption(command, engine);
  command
      .add_option("--random-weights", engine.randomWeights,
                  "Weights made of this seed, in memory, instead of the "
                  "model's files: for speed tests of a shape")
      ->type_name("SEED")
      ->check(seed())
      ->group("Testing");
}

/// Adds an option that may be given several times, each time with one value.
/// `take` gets the raw text of each value, without CLI11's syntax of lists.
template <typename Fn>
void addRepeated(CLI::App &command, const std::string &name,
                 const std::string &type, Fn take, const std::string &help) {
  command
      .add_option(
          name,
          [take](const CLI::results_t &values) {
            for (const std::string &value : values)
              take(value);
            return true;
          },
          help)
      ->type_name(type)
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args(false);
}

void addSamplingOptions(CLI::App &command, GenerateOptions &options) {
  SamplingParams &sampling = options.sampling;
  const char *group = "Sampling";
  auto add = [&](const char *name, const char *type, auto &value,
                 const char *help) {
    command.add_option(name, value, help)->type_name(type)->group(group);
  };
  add("--temperature", "X", sampling.temperature,
      "0 always takes the most probable token. Default: 0, or 1 when --top-k, "
      "--top-p, --min-p or --seed is given");
  add("--top-k", "K", sampling.topK, "Only the K most probable tokens");
  add("--top-p", "P", sampling.topP,
      "Only the most probable tokens that together reach P");
  add("--min-p", "P", sampling.minP,
      "Only tokens at least P times as probable as the most probable one");
  add("--repeat-penalty", "X", sampling.repetitionPenalty,
      "Divides the logits of tokens seen before");
  add("--presence-penalty", "X", sampling.presencePenalty,
      "Subtracted from the logits of tokens in the output");
  add("--frequency-penalty", "X", sampling.frequencyPenalty,
      "The same, for each time that the token is there");
  addRepeated(
      command, "--logit-bias", "BIAS",
      [&sampling](const std::string &text) {
        Expected<std::pair<int32_t, double>> bias = parseLogitBias(text);
        if (!bias)
          throw CLI::ValidationError("--logit-bias", bias.status().message());
        sampling.logitBias[bias->first] = bias->second;
      },
      "ID+VALUE or ID-VALUE: changes a token's logit; 12-inf forbids token "
      "12; can be given several times");
  add("--seed", "N", sampling.seed,
      "Makes sampling repeatable; default: another one each time");
  command.get_option("--logit-bias")->group(group);
  command.get_option("--seed")->check(seed());
}

void addGenerate(CLI::App &app, GenerateOptions &options) {
  CLI::App &command = *app.add_subcommand(
      "generate", "Continues a prompt and writes the text as it comes");
  addPromptOptions(command, options.prompt);
  command
      .add_option("-n,--n-predict", options.predict,
                  "Tokens to generate; 0: only the prompt is computed; "
                  "-1: until the context is full")
      ->type_name("N")
      ->check(within<int64_t>(-1, maxCount))
      ->capture_default_str();
  addEngineOptions(command, options.engine);
  command.add_flag("--ignore-eos", options.ignoreEos,
                   "Do not stop at the end-of-text token");
  addRepeated(
      command, "--stop", "STRING",
      [&options](const std::string &text) {
        options.stopStrings.push_back(text);
      },
      "Stop before this text; can be given several times");
  addRepeated(
      command, "--stop-token", "ID",
      [&options](const std::string &text) {
        Expected<std::vector<int32_t>> ids = parseTokenList(text);
        if (!ids)
          throw CLI::ValidationError("--stop-token", ids.status().message());
        options.stopTokens.insert(options.stopTokens.end(), ids->begin(),
                                  ids->end());
      },
      "Stop before this token id; can be given several times");
  command.add_flag("--echo", options.echo, "Write the prompt's text first");
  CLI::Option *json = command.add_flag(
      "--json", options.json,
      "Write one JSON object at the end: tokens, text, finish_reason, timing "
      "(seconds; generate_seconds from the first generated token to the last, "
      "ttft_seconds from the program's start to the first one), "
      "tokens_per_second; of a pipeline also speculation, draft, stages, "
      "traffic");
  command
      .add_flag("--logits", options.lastLogits,
                "Add last_logits: those of the prompt's last token")
      ->needs(json);
  command
      .add_option("--logprobs", options.logProbs,
                  "Add each token's log-probability and the N most probable")
      ->type_name("N")
      ->check(within<int64_t>(0, maxCount))
      ->needs(json);
  addSamplingOptions(command, options);
  addPipelineOptions(command, options.pipeline);
  command
      .add_option("--company", options.engine.batchMates,
                  "Let N other sequences share every step, which must "
                  "change nothing")
      ->type_name("N")
      ->check(within<int64_t>(0, 4096))
      ->group("Testing");
  command.footer("Ctrl-C ends the text; the exit status is then 130, or 0 with "
                 "--json, whose finish_reason is \"cancelled\".");
}

void addScore(CLI::App &app, ScoreOptions &options) {
  CLI::App &command = *app.add_subcommand(
      "score", "Measures how probable the model finds a text");
  addPromptOptions(command, options.prompt);
  addEngineOptions(command, options.engine);
  command.add_flag("--json", options.json,
                   "Write one JSON object: tokens, perplexity, nll (mean, "
                   "natural logarithm), token_logprobs, token_ids");
  command.footer("The whole text is one window, with nothing put before it; "
                 "perplexity is over tokens 1 to n-1.");
}

void addSteps(CLI::App &app, StepsOptions &options) {
  CLI::App &command =
      *app.add_subcommand("steps", "Measures how long steps are by their rows");
  addEngineOptions(command, options.engine);
  command.get_option("--ctx-size")
      ->description("Positions that each row attends to; default: 32, or the "
                    "model's context if that is less");
  command.get_option("--prefill-chunk")
      ->description("Rows of the steps that come before, which fill the cache");
  command
      .add_option("--rows", options.rows,
                  "Rows of steps, each of another sequence; 1 is always among "
                  "them. Default: " +
                      CLI::detail::join(options.rows, ","))
      ->type_name("N,N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(within<int64_t>(1, 4096));
  command
      .add_option("--repeats", options.repeats,
                  "How often each is measured; the median counts")
      ->type_name("N")
      ->check(within<int64_t>(1, 100000))
      ->capture_default_str();
  command.add_flag("--json", options.json,
                   "Write one JSON object: model, context, steps (rows, "
                   "median_seconds, seconds)");
  command.footer("What is written otherwise is what a cluster's description "
                 "says of a device. The model is whole, in this process.");
}

void addInfo(CLI::App &app, InfoOptions &options) {
  CLI::App &command =
      *app.add_subcommand("info", "Describes the model and this program");
  addEngineOptions(command, options.engine);
  command.add_flag("--json", options.json, "Write one JSON object");
}

void addServe(CLI::App &app, ServeCommandOptions &options) {
  CLI::App &command = *app.add_subcommand(
      "serve", "Serves the model to OpenAI clients over HTTP");
  serve::addServeOptions(command, options.server);
  addServingOptions(command, options.serving);
  addEngineOptions(command, options.engine);
  addPipelineOptions(command, options.pipeline);
  command.footer("SIGTERM or Ctrl-C: running requests finish, new ones are "
                 "refused; a second one ends the server at once.");
}

void addBench(CLI::App &app, BenchCommandOptions &options) {
  CLI::App &command = *app.add_subcommand(
      "bench", "Measures many requests at once, in this process");
  bench::addBenchOptions(command, options.bench);
  command
      .add_option("--max-num-seqs", options.serving.requests,
                  "Requests that run at once")
      ->type_name("N")
      ->check(within<int64_t>(1, 4096))
      ->capture_default_str()
      ->group("Requests");
  addServingOptions(command, options.serving);
  addEngineOptions(command, options.engine);
  addPipelineOptions(command, options.pipeline);
  command.footer("The tool sluice-bench measures servers in the same way.");
}

/// Makes the rows those of a curve of steps: one row first, each count once.
Status settleSteps(StepsOptions &options) {
  options.rows.push_back(1);
  std::ranges::sort(options.rows);
  auto twice = std::ranges::unique(options.rows);
  options.rows.erase(twice.begin(), twice.end());
  if (int64_t(options.rows.size()) > cluster::maxCurvePoints)
    return failure("--rows: ", options.rows.size(),
                   " different row counts are more than ",
                   cluster::maxCurvePoints);
  return {};
}

/// Makes the server's limits the scheduler's.
void settleServe(ServeCommandOptions &options) {
  using Seconds = std::chrono::duration<double>;
  ServingOptions &serving = options.serving;
  serving.requests = options.server.maxSequences;
  serving.scheduler.waiting = options.server.maxQueue;
  serving.scheduler.queueTimeout =
      std::chrono::duration_cast<Time>(Seconds(options.server.queueTimeout));
}

/// Turns sampling on if a sampling option is given without a temperature.
void settleSampling(const CLI::App &command, SamplingParams &sampling) {
  bool asked = false;
  for (const char *name : {"--top-k", "--top-p", "--min-p", "--seed"})
    asked |= command.count(name) > 0;
  if (asked && command.count("--temperature") == 0)
    sampling.temperature = 1;
  if (!sampling.greedy() && command.count("--seed") == 0)
    sampling.seed = std::random_device{}();
}

} // namespace

Command app::parseCommandLine(int argc, const char *const *argv,
                              const std::string &version) {
  std::string program = argc > 0 ? argv[0] : "program";
  program = program.substr(program.rfind('/') + 1);
  GenerateOptions generate;
  ScoreOptions score;
  StepsOptions steps;
  InfoOptions info;
  ServeCommandOptions serve;
  BenchCommandOptions bench;
  CLI::App app("A language model compiled by Sluice", program);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", version);
  app.require_subcommand(0, 1);
  addGenerate(app, generate);
  addScore(app, score);
  addSteps(app, steps);
  addInfo(app, info);
  addServe(app, serve);
  addBench(app, bench);
  if (std::optional<ExitNow> exit = parseArguments(app, argc, argv))
    return *exit;
  if (app.get_subcommands().empty())
    return wrongUsage("A command is required", program);
  if (app.got_subcommand("generate")) {
    settleSampling(*app.get_subcommand("generate"), generate.sampling);
    // Checks ranges only; whether a biased token exists is not a matter of
    // usage.
    Status checked = generate.sampling.validate(maxCount);
    if (checked.ok())
      checked = settlePipelineOptions(*app.get_subcommand("generate"),
                                      generate.pipeline);
    if (!checked.ok())
      return wrongUsage(checked.message(), program + " generate");
    return generate;
  }
  if (app.got_subcommand("score"))
    return score;
  if (app.got_subcommand("steps")) {
    if (Status s = settleSteps(steps); !s.ok())
      return wrongUsage(s.message(), program + " steps");
    return steps;
  }
  if (app.got_subcommand("serve")) {
    if (Status s =
            settlePipelineOptions(*app.get_subcommand("serve"), serve.pipeline);
        !s.ok())
      return wrongUsage(s.message(), program + " serve");
    settleServe(serve);
    return serve;
  }
  if (app.got_subcommand("bench")) {
    const CLI::App &command = *app.get_subcommand("bench");
    Status checked = settlePipelineOptions(command, bench.pipeline);
    if (checked.ok())
      checked = bench::settleBenchOptions(command, bench.bench);
    if (!checked.ok())
      return wrongUsage(checked.message(), program + " bench");
    // No request of the benchmark is refused because the queue is full.
    bench.serving.scheduler.waiting = bench.bench.workload.requests;
    return bench;
  }
  return info;
}
