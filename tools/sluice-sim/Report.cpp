//===- Report.cpp - what came out of a run --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::simulator;

using nlohmann::ordered_json;
using sim::HopOutcome;
using sim::SimulationConfig;
using sim::SimulationPlan;
using sim::SimulationResult;
using sim::StageOutcome;

static double seconds(Time time) {
  return std::chrono::duration<double>(time).count();
}

static double micros(Time time) {
  return static_cast<double>(time.count()) / 1000;
}

static const char *modeName(SpeculationMode mode) {
  constexpr const char *names[] = {"off", "sync", "async"};
  return names[static_cast<size_t>(mode)];
}

static ordered_json workJson(const StageOutcome &stage) {
  return {{"rank", stage.rank},
          {"steps", stage.work.steps},
          {"rows", stage.work.rows},
          {"rows_left", stage.work.left},
          {"busy_seconds", seconds(stage.work.busy)},
          {"checkpoints", stage.work.checkpoints},
          {"tombstones", stage.core.tombstones},
          {"cancel_latency_us",
           {{"count", stage.cancelLatency.count},
            {"p50", micros(stage.cancelLatency.p50)},
            {"p99", micros(stage.cancelLatency.p99)},
            {"max", micros(stage.cancelLatency.max)}}}};
}

static ordered_json trafficJson(const SimulationResult &result) {
  uint64_t messages = 0, bytes = 0;
  ordered_json hops = ordered_json::array();
  for (const HopOutcome &hop : result.hops) {
    messages += hop.data.messages + hop.control.messages;
    bytes += hop.data.bytes + hop.control.bytes;
    hops.push_back({{"from", hop.from},
                    {"to", hop.to},
                    {"messages", hop.data.messages},
                    {"bytes", hop.data.bytes},
                    {"control_messages", hop.control.messages},
                    {"control_bytes", hop.control.bytes}});
  }
  return {{"messages", messages}, {"bytes", bytes}, {"hops", hops}};
}

/// What the run was predicted from.
static ordered_json predictionJson(const SimulationPlan &plan,
                                   const SimulationConfig &config) {
  ordered_json stages = ordered_json::array();
  for (size_t s = 0; s < config.stages.size(); ++s) {
    const cluster::StagePlan &stage = plan.partition.stages[s];
    const sim::StepModel &model = config.stages[s];
    stages.push_back(
        {{"place", plan.places[config.rankOfStage(static_cast<int64_t>(s))]},
         {"first_layer", stage.range.firstLayer},
         {"layers", stage.range.layers},
         {"step_seconds_1", seconds(model.step(1))},
         {"step_seconds_8", seconds(model.step(8))},
         {"checkpoints", model.stretches(model.step(1)) - 1}});
  }
  ordered_json inputs = {
      {"cluster", plan.cluster},
      {"model", plan.target},
      {"draft", plan.draft.empty() ? ordered_json() : ordered_json(plan.draft)},
      {"acceptance", config.acceptance},
      {"trip_seconds", seconds(sim::predictedTimes(config).roundTrip)},
      {"prefill_rows", config.head.prefillRows},
      {"max_latency_us", micros(config.stages[0].maxStretch)}};
  if (!plan.draft.empty())
    inputs["draft_step_seconds"] = seconds(config.draftModel.step(1));
  if (config.acceptance < 1)
    inputs["planning_model_tokens_per_second"] = plan.planned(
        config.speculation.mode == SpeculationMode::Off ? 0
                                                        : config.acceptance);
  inputs["stages"] = stages;
  return inputs;
}

std::string simulator::reportJson(const SimulationPlan &plan,
                                  const SimulationConfig &config,
                                  const SimulationResult &result) {
  const SpeculationCounters &guesses = result.speculation;
  ordered_json report = {
      {"tokens", result.requests[0].tokens.size()},
      {"prompt_tokens", config.requests[0].spec.prompt.size()},
      {"tokens_per_second", result.tokensPerSecond()},
      {"ttft_seconds", result.ttftSeconds()},
      {"speculation",
       {{"mode", modeName(config.speculation.mode)},
        {"depth", config.speculation.depth},
        {"width", config.speculation.width},
        {"launched", guesses.launched},
        {"accepted", guesses.accepted},
        {"cancelled", guesses.cancelled},
        {"computed_dead", guesses.computedDead},
        {"epochs", guesses.epochs},
        {"drafted", guesses.drafted}}}};
  ordered_json stages = ordered_json::array();
  for (const StageOutcome &stage : result.workers) {
    if (stage.role == "draft")
      report["draft"] = workJson(stage);
    else
      stages.push_back(workJson(stage));
  }
  report["stages"] = stages;
  report["traffic"] = trafficJson(result);
  report["prediction"] = predictionJson(plan, config);
  return report.dump(2) + "\n";
}

template <typename... Values>
static void print(std::string &out, const char *format, Values... values) {
  char line[256];
  std::snprintf(line, sizeof(line), format, values...);
  out += line;
}

std::string simulator::reportText(const SimulationPlan &plan,
                                  const SimulationConfig &config,
                                  const SimulationResult &result) {
  std::string out;
  const SpeculationCounters &guesses = result.speculation;
  print(out, "%s on %s, %zu stages", plan.target.c_str(), plan.cluster.c_str(),
        config.stages.size());
  if (!plan.draft.empty())
    print(out, ", draft %s", plan.draft.c_str());
  print(out, ", speculation %s\n", modeName(config.speculation.mode));
  print(out, "%.3f tokens/s, first token after %.3f s\n",
        result.tokensPerSecond(), result.ttftSeconds());
  if (config.speculation.mode != SpeculationMode::Off)
    print(out,
          "guesses: %lld launched, %lld accepted, %lld cancelled, "
          "%lld computed dead\n",
          static_cast<long long>(guesses.launched),
          static_cast<long long>(guesses.accepted),
          static_cast<long long>(guesses.cancelled),
          static_cast<long long>(guesses.computedDead));
  print(out, "\n%-10s %5s %8s %8s %8s %10s %22s\n", "role", "rank", "steps",
        "rows", "left", "busy s", "cancel us p50/p99/max");
  for (const StageOutcome &stage : result.workers)
    print(out, "%-10s %5d %8llu %8llu %8llu %10.3f %8.0f/%6.0f/%6.0f\n",
          stage.role.c_str(), stage.rank,
          static_cast<unsigned long long>(stage.work.steps),
          static_cast<unsigned long long>(stage.work.rows),
          static_cast<unsigned long long>(stage.work.left),
          seconds(stage.work.busy), micros(stage.cancelLatency.p50),
          micros(stage.cancelLatency.p99), micros(stage.cancelLatency.max));
  print(out, "\n%-10s %10s %14s %10s\n", "hop", "messages", "bytes", "cancels");
  for (const HopOutcome &hop : result.hops)
    print(out, "%3d -> %-3d %10llu %14llu %10llu\n", hop.from, hop.to,
          static_cast<unsigned long long>(hop.data.messages),
          static_cast<unsigned long long>(hop.data.bytes),
          static_cast<unsigned long long>(hop.control.messages));
  return out;
}
