//===- sluice-sim.cpp - simulator of head and stages ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Load.h"
#include "SimOptions.h"
#include "SimReport.h"

#include "runtime/base/StandardOutput.h"
#include "runtime/sim/FaultScenario.h"

using namespace sluice;
using namespace sluice::simulator;

/// Returns the configuration of a run on a cluster, without a trace.
static Expected<sim::SimulationConfig>
configure(const SimOptions &options, const sim::SimulationPlan &plan) {
  sim::SimulationConfig config = plan.config;
  bool hasDraft = config.placement != sim::SimPlacement::None;
  config.speculation = options.speculation;
  config.speculation.mode = options.mode.value_or(
      hasDraft ? SpeculationMode::Async : SpeculationMode::Off);
  config.outputs = options.outputs;
  config.acceptance = options.acceptance;
  config.confidence = options.confidence;
  config.seed = options.seed;
  config.headDecision = Time(static_cast<int64_t>(options.headMicros * 1000));
  config.wakeUp = Time(static_cast<int64_t>(options.wakeMicros * 1000));
  config.stageLimits.fuse = options.fuse;
  addRequests(options, config);
  sim::setLimits(config);
  return config;
}

/// Runs a simulation, with a trace if `traceFile` is not empty.
static Expected<sim::SimulationResult> runTraced(sim::SimulationConfig &config,
                                                 const std::string &traceFile) {
  if (traceFile.empty())
    return sim::simulate(config);
  Expected<trace::TraceWriter> writer = trace::TraceWriter::create(traceFile);
  if (!writer)
    return writer.status();
  config.trace = &*writer;
  config.policyNotes = true;
  Expected<sim::SimulationResult> result = sim::simulate(config);
  // The trace is also finished if the run has failed, since it helps to find
  // the reason.
  if (Status s = writer->finish(); !s.ok() && result)
    return s;
  return result;
}

static Status runCluster(SimOptions options) {
  Expected<cluster::ClusterFile> file =
      cluster::readClusterFile(options.clusterFile);
  if (!file)
    return file.status();
  bool draftKnown = options.draftGiven || !file->draft.empty();
  if (!draftKnown && options.plan.placement != sim::SimPlacement::None) {
    if (options.mode.value_or(SpeculationMode::Off) != SpeculationMode::Off)
      return failure("--speculate needs a draft: --draft NAME");
    options.plan.placement = sim::SimPlacement::None;
  }
  if (options.plan.target.empty() && file->target.empty())
    return failure(options.clusterFile, " names no target: --model NAME");
  Expected<sim::SimulationPlan> plan = sim::planSimulation(*file, options.plan);
  if (!plan)
    return plan.status().withContext(options.clusterFile);
  Expected<sim::SimulationConfig> config = configure(options, *plan);
  if (!config)
    return config.status();
  Expected<sim::SimulationResult> result =
      runTraced(*config, options.traceFile);
  if (!result)
    return result.status();
  if (options.isLoad)
    return writeOutput(options.json ? loadJson(options, *config, *result)
                                    : loadText(options, *config, *result));
  return writeOutput(options.json ? reportJson(*plan, *config, *result)
                                  : reportText(*plan, *config, *result));
}

/// Simulates stages with given times of steps instead of a cluster.
static Status runSteps(const SimOptions &options) {
  sim::SimulationConfig config = lineConfig(options);
  Expected<sim::SimulationResult> result = runTraced(config, options.traceFile);
  if (!result)
    return result.status();
  return writeOutput(options.json ? loadJson(options, config, *result)
                                  : loadText(options, config, *result));
}

/// The sums over many runs.
struct Totals {
  uint64_t runs = 0, events = 0, tokens = 0, requests = 0;
  uint64_t launched = 0, cancelled = 0, epochs = 0;
  // The counters below are about runs that broke off.
  bool mayBreak = false;
  uint64_t brokeOff = 0, errors = 0;
  sim::Breaks breaks;

  void add(const sim::SimulationResult &result) {
    ++runs;
    events += result.events;
    brokeOff += !result.broken.ok();
    breaks.lost += result.breaks.lost;
    breaks.repeated += result.breaks.repeated;
    breaks.crashed += result.breaks.crashed;
    for (const sim::RequestOutcome &request : result.requests) {
      tokens += request.tokens.size();
      errors += request.reason == FinishReason::Error;
    }
    requests += result.requests.size();
    launched += static_cast<uint64_t>(result.speculation.launched);
    cancelled += static_cast<uint64_t>(result.speculation.cancelled);
    epochs += static_cast<uint64_t>(result.speculation.epochs);
  }
  std::string json() const;
  std::string text() const;
};

std::string Totals::json() const {
  std::string out = "{\"runs\": " + std::to_string(runs);
  auto add = [&](const char *name, uint64_t value) {
    out += std::string(", \"") + name + "\": " + std::to_string(value);
  };
  add("failures", 0);
  add("requests", requests);
  add("tokens", tokens);
  add("launched", launched);
  add("cancelled", cancelled);
  add("epochs", epochs);
  add("events", events);
  if (mayBreak) {
    add("broke_off", brokeOff);
    add("errors", errors);
    add("lost_messages", static_cast<uint64_t>(breaks.lost));
    add("repeated_messages", static_cast<uint64_t>(breaks.repeated));
    add("dead_ranks", static_cast<uint64_t>(breaks.crashed));
  }
  return out + "}\n";
}

std::string Totals::text() const {
  std::string out =
      std::to_string(runs) +
      " runs: tokens right and nothing held at the end in each; " +
      std::to_string(requests) + " requests, " + std::to_string(tokens) +
      " tokens, " + std::to_string(launched) + " guesses, " +
      std::to_string(cancelled) + " cancelled\n";
  if (mayBreak)
    out += std::to_string(brokeOff) + " of them broke off, of " +
           std::to_string(breaks.lost) + " lost messages, " +
           std::to_string(breaks.repeated) + " that came twice and " +
           std::to_string(breaks.crashed) +
           " dead ranks: " + std::to_string(errors) +
           " requests ended as errors\n";
  return out;
}

/// Returns the options that reproduce the scenario of one seed.
static std::string scenarioOptions(const SimOptions &options) {
  std::string given = options.faults ? " --faults" : "";
  given += options.breaks ? " --breaks" : "";
  return given.empty() ? " --seeds 1" : given;
}

static Status runScenarios(const SimOptions &options) {
  Totals totals;
  totals.mayBreak = options.breaks;
  uint64_t count = options.seeds.value_or(1);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t seed = options.seed + i;
    sim::SimulationConfig config =
        sim::makeScenario(seed, options.faults, options.breaks);
    Expected<sim::SimulationResult> result =
        runTraced(config, options.traceFile);
    if (!result)
      return failure("seed ", seed, ": ", result.status().message(), " (",
                     sim::describeScenario(config), "); again: sluice-sim",
                     scenarioOptions(options), " --seed ", seed);
    totals.add(*result);
  }
  return writeOutput(options.json ? totals.json() : totals.text());
}

int main(int argc, char **argv) {
  holdStandardDescriptors();
  std::optional<ExitNow> exit;
  SimOptions options = parseOptions(argc, argv, exit);
  if (exit) {
    Status written =
        exit->output.empty() ? Status() : writeOutput(exit->output);
    if (!exit->error.empty())
      writeNote("sluice-sim: " + exit->error);
    if (!written.ok())
      writeNote("sluice-sim: " + written.message());
    return written.ok() ? exit->code : 1;
  }
  Status status = options.runsScenarios() ? runScenarios(options)
                  : options.steps         ? runSteps(options)
                                          : runCluster(options);
  if (!status.ok())
    writeNote("sluice-sim: " + status.message());
  return status.ok() ? 0 : 1;
}
