//===- RunOptions.cpp - the options of sluice-run -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunOptions.h"
#include "runtime/base/HelpFormatter.h"
#include "runtime/base/OptionChecks.h"
#include "runtime/base/ParseArguments.h"
#include "runtime/base/StandardOutput.h"
#include "tools/ToolCommandLine.h"

#include <CLI/CLI.hpp>

#include <random>

using namespace sluice;
using namespace sluice::run;

static constexpr int64_t maxCount = (int64_t(1) << 31) - 1;

static void addPrompt(CLI::App &app, RunOptions &options) {
  CLI::Option_group *group = app.add_option_group(
      "Prompt", "what the model is given, exactly one of these, which can be "
                "given several times for as many requests");
  auto add = [&](const char *name, const char *type, PromptSource source,
                 const char *help) {
    // The function is called each time the option is given. A list of strings
    // would not work, since CLI11 splits a text in brackets.
    group
        ->add_option_function<std::string>(
            name,
            [&options, source](const std::string &value) {
              options.promptSource = source;
              options.prompts.push_back(value);
            },
            help)
        ->type_name(type)
        ->trigger_on_parse();
  };
  add("-p,--prompt", "PROMPT", PromptSource::Text, "A text");
  add("-f,--file", "FILE", PromptSource::File,
      "A file of text; - is standard input");
  add("--tokens", "IDS", PromptSource::Tokens, "Token ids: 5,6,7");
  add("--tokens-file", "FILE", PromptSource::TokensFile,
      "A file of token ids, separated by commas, blanks or newlines");
  group->require_option(1);
}

static void addGeneration(CLI::App &app, RunOptions &options) {
  auto add = [&](const char *name, const char *type, auto &value,
                 const char *help) {
    return app.add_option(name, value, help)->type_name(type);
  };
  add("-n,--n-predict", "N", options.predict,
      "Tokens to generate; 0: only the prompt is computed; -1: until the "
      "context is full")
      ->check(within<int64_t>(-1, maxCount))
      ->capture_default_str();
  add("-c,--ctx-size", "N", options.contextLength,
      "Tokens of prompt and output together; default: the model's")
      ->check(within<int64_t>(1, maxCount));
  add("-b,--prefill-chunk", "N", options.prefillChunk,
      "Prompt tokens computed in one step")
      ->check(within<int64_t>(1, 65536))
      ->capture_default_str();
  app.add_flag("--ignore-eos", options.ignoreEos,
               "Do not stop at the end-of-text token");
  add("--stop", "STRING", options.stopStrings,
      "Stop before this text; can be given several times")
      ->allow_extra_args(false);
  add("--temperature", "X", options.sampling.temperature,
      "0 always takes the most probable token. Default: 0, or 1 when --top-k, "
      "--top-p, --min-p or --seed is given");
  add("--top-k", "K", options.sampling.topK, "Only the K most probable tokens");
  add("--top-p", "P", options.sampling.topP,
      "Only the most probable tokens that together reach P");
  add("--min-p", "P", options.sampling.minP,
      "Only tokens at least P times as probable as the most probable one");
  add("--seed", "N", options.sampling.seed,
      "Makes sampling repeatable; default: another one each time");
}

static void addOutput(CLI::App &app, RunOptions &options) {
  CLI::Option *json =
      app.add_flag("--json", options.json, "Write one JSON object at the end");
  app.add_flag("--logits", options.logits,
               "Add last_logits: those of the prompt's last token")
      ->needs(json);
  app.add_flag("--score", options.score,
               "Generate nothing; measure how probable the model finds the "
               "prompt");
}

/// Turns sampling on if a sampling option is given without a temperature, and
/// chooses a seed if none is given.
static void settleSampling(const CLI::App &app, SamplingParams &sampling) {
  bool asked = false;
  for (const char *name : {"--top-k", "--top-p", "--min-p", "--seed"})
    asked |= app.count(name) > 0;
  if (asked && app.count("--temperature") == 0)
    sampling.temperature = 1;
  if (!sampling.greedy() && app.count("--seed") == 0)
    sampling.seed = std::random_device{}();
}

/// Checks the options for errors that the parser cannot find.
static Status check(const RunOptions &options) {
  if (options.score && options.prompts.size() > 1)
    return failure("--score takes one prompt");
  return options.sampling.validate(maxCount);
}

/// Writes the output and the error. Returns the exit status.
static int endNow(const ExitNow &exit) {
  if (!exit.error.empty())
    writeNote("sluice-run: " + exit.error);
  if (Status s = writeOutput(exit.output); !s.ok()) {
    writeNote("sluice-run: " + s.message());
    return exitFailure;
  }
  return exit.code;
}

std::optional<RunOptions>
sluice::run::parseOptions(int argc, const char *const *argv, int &code) {
  RunOptions options;
  CLI::App app("Executes a Sluice module: the phases 'model', 'pipeline', "
               "'program' and 'plan' with the reference interpreter (slow, "
               "float32, easy to trust), the phase 'kernels' natively",
               "sluice-run");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", versionOf("sluice-run"));
  app.add_option("module", options.module,
                 "The module, as sluice-import writes it; - is standard input")
      ->type_name("MODULE")
      ->required();
  addPrompt(app, options);
  addGeneration(app, options);
  addOutput(app, options);
  std::optional<ExitNow> exit = parseArguments(app, argc, argv);
  if (!exit) {
    settleSampling(app, options.sampling);
    if (Status s = check(options); !s.ok())
      exit = wrongUsage(s.message(), "sluice-run");
  }
  if (!exit)
    return options;
  code = endNow(*exit);
  return std::nullopt;
}
