//===- BenchOptions.cpp - the options of the load generator ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/bench/BenchOptions.h"

#include "runtime/base/OptionChecks.h"

#include <CLI/CLI.hpp>

using namespace sluice;
using namespace sluice::bench;

namespace {

constexpr int64_t maxRequests = 1'000'000;

const std::vector<std::pair<std::string, Arrival>> arrivals = {
    {"all", Arrival::All},
    {"fixed", Arrival::Fixed},
    {"poisson", Arrival::Poisson},
    {"gamma", Arrival::Gamma}};

/// Adds an option whose value is parsed, or refused, by `read`.
template <typename T>
void addRead(CLI::App &command, const char *name, const char *type, T &value,
             Expected<T> (*read)(std::string_view), const char *help) {
  command
      .add_option_function<std::string>(
          name,
          [&value, name, read](const std::string &text) {
            Expected<T> made = read(text);
            if (!made)
              throw CLI::ValidationError(name, made.status().message());
            value = made.take();
          },
          help)
      ->type_name(type);
}

template <typename T>
CLI::Option *addNumber(CLI::App &command, const char *name, T &value, T low,
                       T high, const char *help) {
  return command.add_option(name, value, help)
      ->type_name("N")
      ->check(within<T>(low, high));
}

void addArrivals(CLI::App &command, WorkloadOptions &workload) {
  addNumber<int64_t>(command, "--requests", workload.requests, 1, maxRequests,
                     "How many; of a trace file at most so many")
      ->capture_default_str();
  addChoice(
      command, "--arrival", workload.arrival, arrivals, "KIND",
      "all: at once, the default; fixed: one each interval; poisson: after "
      "exponential intervals; gamma: after gamma intervals");
  addNumber(command, "--mean-interval-ms", workload.meanIntervalMs, 1e-3, 1e9,
            "Mean time between two arrivals");
  addNumber(command, "--burstiness", workload.burstiness, 1e-2, 1e6,
            "With gamma: the intervals' shape; 1 is poisson, below 1 requests "
            "come in bursts, above 1 more evenly");
  addText(command, "--trace-file", workload.traceFile, "FILE",
          "Arrivals and lengths from a file: on each line "
          "{\"timestamp\": MS, \"input_length\": N, "
          "\"output_length\": N}, or MS,N,N");
  addNumber<int64_t>(command, "--concurrency", workload.concurrency, 1,
                     maxRequests,
                     "Closed loop: N in flight; the next one starts when one "
                     "ends");
}

void addLengths(CLI::App &command, BenchOptions &options) {
  const char *forms = "N, uniform:LOW:HIGH, normal:MEAN:SD, "
                      "lognormal:MEAN:SD or choice:A,B,C; default: 128";
  addRead(command, "--prompt-tokens", "LENGTH", options.workload.promptTokens,
          &LengthDistribution::parse, forms);
  addRead(command, "--output-tokens", "LENGTH", options.workload.outputTokens,
          &LengthDistribution::parse,
          "The same; the end-of-text token ends nothing");
  addNumber<int64_t>(command, "--shared-prefix-tokens",
                     options.prompt.sharedPrefixTokens, 0, maxLength,
                     "So many of each prompt's tokens, the first ones, are the "
                     "same in all");
  addChoice<PromptForm>(
      command, "--prompt-form", options.prompt.form,
      {{"tokens", PromptForm::Tokens}, {"text", PromptForm::Text}}, "FORM",
      "tokens: random ids; text: random words, about a token each. "
      "Default: tokens; for a chat text");
  addNumber<int64_t>(command, "--vocab-size", options.prompt.vocabularySize, 1,
                     (int64_t(1) << 31) - 1,
                     "Random ids are below N; default: the model's, or 1000 "
                     "where a server does not say");
  command
      .add_option("--seed", options.workload.seed,
                  "Another seed, another workload")
      ->type_name("N")
      ->check(seed())
      ->capture_default_str();
  addNumber(command, "--temperature", options.temperature, 0.0, 100.0,
            "0 always takes the most probable token, the default");
}

void addRun(CLI::App &command, BenchOptions &options) {
  addNumber<int64_t>(command, "--max-concurrency", options.maxConcurrency, 1,
                     maxRequests,
                     "At most N in flight; later arrivals wait for a place");
  addNumber<int64_t>(command, "--warmup-requests", options.warmupRequests, 0,
                     maxRequests, "Sent before the run and not measured");
  addNumber(command, "--timeout-s", options.timeoutSeconds, 0.0, 1e6,
            "A request that takes longer is an error; 0: no limit")
      ->capture_default_str();
  addRead(command, "--goodput", "LIMITS", options.goodput, &parseGoodput,
          "Also count the requests within these limits in ms, as "
          "ttft:500,itl:50,e2e:3000; itl is a request's longest gap, tpot its "
          "mean time per token");
  command.add_flag("--json", options.json, "Write one JSON object");
  addText(command, "--save-requests", options.saveRequests, "FILE",
          "Write a JSON line for each request; - is standard output");
}

Status excludes(const CLI::App &command, const char *name,
                std::initializer_list<const char *> others) {
  for (const char *other : others)
    if (command.count(name) > 0 && command.count(other) > 0)
      return failure(name, ": not with ", other);
  return {};
}

Status checkArrivals(const CLI::App &command, const WorkloadOptions &workload) {
  for (Status s : {excludes(command, "--concurrency",
                            {"--arrival", "--mean-interval-ms", "--trace-file",
                             "--max-concurrency"}),
                   excludes(command, "--trace-file",
                            {"--arrival", "--mean-interval-ms",
                             "--prompt-tokens", "--output-tokens"})})
    if (!s.ok())
      return s;
  bool hasInterval = command.count("--mean-interval-ms") > 0;
  if (workload.arrival == Arrival::All && hasInterval)
    return failure("--mean-interval-ms: only with --arrival fixed, poisson or "
                   "gamma");
  if (workload.arrival != Arrival::All && !hasInterval)
    return failure("--arrival ", arrivalName(workload.arrival),
                   ": needs --mean-interval-ms");
  if (workload.arrival != Arrival::Gamma && command.count("--burstiness") > 0)
    return failure("--burstiness: only with --arrival gamma");
  return {};
}

} // namespace

void bench::addBenchOptions(CLI::App &command, BenchOptions &options) {
  addArrivals(command, options.workload);
  addLengths(command, options);
  addRun(command, options);
}

Status bench::settleBenchOptions(const CLI::App &command,
                                 const BenchOptions &options) {
  SLUICE_RETURN_IF_ERROR(checkArrivals(command, options.workload));
  if (options.prompt.form == PromptForm::Text &&
      command.count("--vocab-size") > 0)
    return failure("--vocab-size: not with prompts of text");
  if (options.json && options.saveRequests == "-")
    return failure("--save-requests -: not with --json, which is written "
                   "there");
  return {};
}

std::string_view bench::arrivalName(Arrival arrival) {
  for (const auto &[name, value] : arrivals)
    if (value == arrival)
      return name;
  return "";
}
