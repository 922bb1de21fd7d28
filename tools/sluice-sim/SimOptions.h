//===- SimOptions.h - what users ask the simulator for --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_SIM_SIMOPTIONS_H
#define SLUICE_TOOLS_SLUICE_SIM_SIMOPTIONS_H

#include "runtime/base/ParseArguments.h"
#include "runtime/bench/RandomPrompt.h"
#include "runtime/sim/SimulationPlan.h"

#include <optional>
#include <string>

namespace sluice::simulator {

/// What a step takes, where no cluster is described.
struct LineSteps {
  double baseMicros = 0;   ///< of one row
  double perRowMicros = 0; ///< of each more
};

struct SimOptions {
  // A described cluster, or steps of given times.
  std::optional<LineSteps> steps;
  std::string clusterFile;
  sim::PlanOptions plan;
  bool draftGiven = false;
  std::optional<SpeculationMode> mode;
  SpeculationOptions speculation;
  double acceptance = 0.8;
  sim::Confidence confidence = sim::Confidence::Calibrated;
  std::vector<int32_t> outputs; ///< what the target says, as far as given
  bool fuse = true;
  double headMicros = 20;
  double wakeMicros = 80;
  std::string traceFile;

  // Requests: one, unless a load is asked for.
  bool isLoad = false;
  bench::WorkloadOptions load;
  bench::PromptShape prompt;
  bench::Workload requests;
  int64_t slots = 256;
  int64_t cachePages = 0; ///< 0: as many as the slots can need
  double maxItlMs = 0;    ///< 0: no bound
  bool reorders = true;

  // Scenarios from seeds.
  bool faults = false;
  bool breaks = false;           ///< also what a run does not get over
  std::optional<uint64_t> seeds; ///< how many

  uint64_t seed = 1;
  bool json = false;

  /// Whether scenarios are run, and not a cluster.
  bool runsScenarios() const { return clusterFile.empty() && !steps; }
};

/// Reads the command line. `exit` is set for --help, --version and wrong usage.
SimOptions parseOptions(int argc, char **argv, std::optional<ExitNow> &exit);

} // namespace sluice::simulator

#endif // SLUICE_TOOLS_SLUICE_SIM_SIMOPTIONS_H
