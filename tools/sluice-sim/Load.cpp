//===- Load.cpp - simulation of many requests on one model ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Load.h"

#include "runtime/bench/Statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::simulator;

using nlohmann::ordered_json;
using sim::RequestOutcome;
using sim::SimulationConfig;
using sim::SimulationResult;

static Time micros(double count) { return Time(std::llround(count * 1000)); }

static double millis(Time time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void simulator::addRequests(const SimOptions &options,
                            SimulationConfig &config) {
  bench::PromptShape prompts = options.prompt;
  prompts.vocabularySize = config.vocabulary;
  for (const bench::BenchRequest &spec : options.requests) {
    sim::SimRequest &request = config.requests.emplace_back();
    request.arrives = spec.arrival;
    request.asked.spec.maxTokens = spec.outputTokens;
    // A single request has a prompt of ones, as the help of --outputs says.
    if (options.isLoad)
      request.asked.spec.prompt =
          bench::promptTokens(prompts, spec, options.load.seed);
    else
      request.asked.spec.prompt.assign(static_cast<size_t>(spec.promptTokens),
                                       1);
  }
  if (!options.isLoad)
    return;
  auto requests = static_cast<int64_t>(options.requests.size());
  config.head.requests = std::min(options.slots, requests);
  config.head.pages = options.cachePages;
  config.head.sharesPrefixes = true;
  config.head.interTokenLatency = micros(options.maxItlMs * 1000);
  config.scheduler.waiting = requests;
}

SimulationConfig simulator::lineConfig(const SimOptions &options) {
  SimulationConfig config;
  config.placement = sim::SimPlacement::None;
  config.speculation.mode = SpeculationMode::Off;
  sim::StepModel model;
  for (int64_t rows = 0; rows < 2; ++rows)
    model.byRows.push_back(
        micros(options.steps->baseMicros +
               static_cast<double>(rows) * options.steps->perRowMicros));
  model.keepsHoles = !options.reorders;
  int64_t stages = std::max<int64_t>(1, options.plan.stages);
  config.stages.assign(static_cast<size_t>(stages), model);
  config.links.resize(static_cast<size_t>(stages * stages));
  config.head.contextLength = options.plan.context;
  config.head.prefillRows = options.plan.prefillRows;
  config.headDecision = micros(options.headMicros);
  config.wakeUp = micros(options.wakeMicros);
  config.stageLimits.fuse = options.fuse;
  config.seed = options.seed;
  addRequests(options, config);
  sim::setLimits(config);
  return config;
}

namespace {

/// The reported results of a run.
struct Summary {
  Summary(const SimulationConfig &config, const SimulationResult &result);

  std::vector<sim::StepSize> steps; ///< the first stage's steps
  double overlap = 0;
  int64_t tokens = 0;
  Time makespan{0}; ///< from the first arrival to the last token
  bench::Statistics ttftMs, e2eMs, tpotMs;
  double tokensPerSecond() const {
    return makespan > Time(0)
               ? static_cast<double>(tokens) / millis(makespan) * 1000
               : 0;
  }
};

Summary::Summary(const SimulationConfig &config,
                 const SimulationResult &result) {
  bool hasDraft = config.placement != sim::SimPlacement::None;
  steps = result.workers[hasDraft].work.steps;
  std::vector<double> ttft, e2e, tpot;
  Time first = result.requests.front().submitted, last{0};
  for (const RequestOutcome &request : result.requests) {
    auto count = static_cast<int64_t>(request.tokens.size());
    tokens += count;
    first = std::min(first, request.submitted);
    last = std::max(last, request.lastToken);
    if (count == 0)
      continue;
    ttft.push_back(millis(request.firstToken - request.submitted));
    e2e.push_back(millis(request.lastToken - request.submitted));
    if (count > 1)
      tpot.push_back(millis(request.lastToken - request.firstToken) /
                     static_cast<double>(count - 1));
  }
  makespan = std::max(last - first, Time(0));
  ttftMs = bench::describe(std::move(ttft));
  e2eMs = bench::describe(std::move(e2e));
  tpotMs = bench::describe(std::move(tpot));
  double answered = 0;
  for (const sim::StepSize &step : steps)
    answered += step.outputs;
  if (!steps.empty())
    overlap = answered / static_cast<double>(steps.size()) /
              static_cast<double>(result.requests.size());
}

} // namespace

static ordered_json toJson(const bench::Statistics &values) {
  return {{"mean", values.mean},
          {"p50", values.p50},
          {"p90", values.p90},
          {"p99", values.p99},
          {"max", values.max}};
}

static ordered_json requestsJson(const SimulationConfig &config,
                                 const SimulationResult &result) {
  ordered_json all = ordered_json::array();
  for (size_t i = 0; i < result.requests.size(); ++i) {
    const RequestOutcome &request = result.requests[i];
    ordered_json one = {
        {"arrival_ns", request.submitted.count()},
        {"prompt_tokens", config.requests[i].asked.spec.prompt.size()},
        {"output_tokens", request.tokens.size()},
        {"finish_reason", finishReasonName(request.reason)}};
    if (!request.tokens.empty()) {
      one["ttft_ms"] = millis(request.firstToken - request.submitted);
      one["e2e_ms"] = millis(request.lastToken - request.submitted);
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::string simulator::loadJson(const SimOptions &options,
                                const SimulationConfig &config,
                                const SimulationResult &result) {
  Summary summary(config, result);
  ordered_json rows = ordered_json::array(), outputs = ordered_json::array();
  for (const sim::StepSize &step : summary.steps) {
    rows.push_back(step.rows);
    outputs.push_back(step.outputs);
  }
  ordered_json report = {
      {"requests", result.requests.size()},
      {"seed", options.seed},
      {"prompt_tokens", options.load.promptTokens.spelling()},
      {"output_tokens", options.load.outputTokens.spelling()},
      {"steps", summary.steps.size()},
      {"overlap", summary.overlap},
      {"makespan_seconds", millis(summary.makespan) / 1000},
      {"throughput_tokens_per_second", summary.tokensPerSecond()},
      {"ttft_ms", toJson(summary.ttftMs)},
      {"tpot_ms", toJson(summary.tpotMs)},
      {"e2e_ms", toJson(summary.e2eMs)},
      {"pauses", result.preemptions},
      {"prefix_tokens_found", result.foundTokens},
      {"step_rows", rows},
      {"step_outputs", outputs},
      {"per_request", requestsJson(config, result)}};
  return report.dump() + "\n";
}

template <typename... Values>
static void print(std::string &out, const char *format, Values... values) {
  char line[256];
  std::snprintf(line, sizeof(line), format, values...);
  out += line;
}

std::string simulator::loadText(const SimOptions &options,
                                const SimulationConfig &config,
                                const SimulationResult &result) {
  Summary summary(config, result);
  std::string out;
  print(out, "%zu requests, %zu stages: %.3f s, %.1f tokens/s\n",
        result.requests.size(), config.stages.size(),
        millis(summary.makespan) / 1000, summary.tokensPerSecond());
  print(out, "%zu steps, %.1f %% of the requests in each\n",
        summary.steps.size(), 100 * summary.overlap);
  if (result.preemptions > 0)
    print(out, "%lld pauses\n", static_cast<long long>(result.preemptions));
  if (result.foundTokens > 0)
    print(out, "%lld tokens of prompts were in the cache\n",
          static_cast<long long>(result.foundTokens));
  print(out, "\n%-8s %10s %10s %10s %10s %10s\n", "ms", "mean", "p50", "p90",
        "p99", "max");
  for (auto [name, values] :
       {std::pair("ttft", summary.ttftMs), std::pair("tpot", summary.tpotMs),
        std::pair("e2e", summary.e2eMs)})
    print(out, "%-8s %10.2f %10.2f %10.2f %10.2f %10.2f\n", name, values.mean,
          values.p50, values.p90, values.p99, values.max);
  return out;
}
