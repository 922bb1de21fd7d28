//===- SimReport.cpp - the results of a simulated run ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimReport.h"

#include "runtime/pipeline/ReportJson.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::simulator;

using nlohmann::ordered_json;
using pipeline::PipelineOutcome;
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

/// Returns the report of a stage in the form that the ranks of a real run use.
static pipeline::StageReport stageReport(const StageOutcome &worker) {
  pipeline::StageReport report;
  report.name = worker.role;
  report.rank = worker.rank;
  report.steps = worker.core.steps;
  report.rows = worker.core.rows;
  report.departedAtCheckpoint = worker.core.departedAtCheckpoint;
  report.guesses = worker.core.guesses;
  report.droppedAtMailbox = worker.core.droppedAtMailbox;
  report.checkpoints = worker.work.checkpoints;
  report.tombstones = worker.core.tombstones;
  report.busySeconds = seconds(worker.work.busy);
  report.idleSeconds = seconds(worker.work.idle);
  const sim::LatencySummary &latency = worker.cancelLatency;
  report.cancelLatency = {latency.count, micros(latency.p50),
                          micros(latency.p99), micros(latency.max)};
  return report;
}

static PipelineOutcome outcomeOf(const SimulationConfig &config,
                                 const SimulationResult &result) {
  PipelineOutcome outcome{config.speculation, result.speculation, {}};
  for (int64_t rank = 0; rank < config.ranks(); ++rank)
    outcome.ranks.emplace_back().rank = rank;
  for (const StageOutcome &worker : result.workers)
    outcome.ranks[size_t(worker.rank)].stages.push_back(stageReport(worker));
  for (const HopOutcome &hop : result.hops)
    outcome.ranks[size_t(hop.from)].traffic.push_back(
        {hop.to, hop.data.messages, hop.data.bytes, hop.control.messages,
         hop.control.bytes});
  return outcome;
}

/// The row counts of the steps whose times are reported; each row has an
/// output. They include the counts that utils/bench_cpu/steps.py compares with
/// measured times.
static constexpr int64_t predictedRows[] = {1,  2,  3,  4,  5,  6,  7,  8,
                                            10, 12, 14, 16, 24, 32, 48, 64};

/// Returns the numbers from which the run was predicted.
static ordered_json predictionJson(const SimulationPlan &plan,
                                   const SimulationConfig &config) {
  ordered_json stages = ordered_json::array();
  for (size_t s = 0; s < config.stages.size(); ++s) {
    const cluster::StagePlan &stage = plan.partition.stages[s];
    const sim::StepModel &model = config.stages[s];
    ordered_json steps;
    for (int64_t rows : predictedRows)
      steps[std::to_string(rows)] = seconds(model.step(rows));
    stages.push_back(
        {{"place", plan.places[config.rankOfStage(static_cast<int64_t>(s))]},
         {"first_layer", stage.range.firstLayer},
         {"layers", stage.range.layers},
         {"step_seconds", steps},
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
    inputs["planning_model_tokens_per_second"] = plan.partition.tokensPerSecond;
  inputs["stages"] = stages;
  return inputs;
}

std::string simulator::reportJson(const SimulationPlan &plan,
                                  const SimulationConfig &config,
                                  const SimulationResult &result) {
  ordered_json report = {
      {"tokens", result.requests[0].tokens.size()},
      {"prompt_tokens", config.requests[0].asked.spec.prompt.size()},
      {"tokens_per_second", result.tokensPerSecond()},
      {"ttft_seconds", result.ttftSeconds()}};
  report.update(pipeline::toJson(outcomeOf(config, result)));
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
  print(out, ", speculation %s\n",
        std::string(pipeline::modeName(config.speculation.mode)).c_str());
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
          static_cast<unsigned long long>(stage.core.steps),
          static_cast<unsigned long long>(stage.core.rows),
          static_cast<unsigned long long>(stage.core.departedAtCheckpoint),
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
