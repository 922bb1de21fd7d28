//===- SimOptions.h - the options of sluice-sim ---------------------------===//
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

/// The time of a step if no cluster is described, in microseconds.
struct LineSteps {
  double baseMicros = 0;   ///< a step of one row
  double perRowMicros = 0; ///< each further row
};

struct SimOptions {
  // Either a cluster is described, or the times of steps are given.
  std::optional<LineSteps> steps;
  std::string clusterFile;
  sim::PlanOptions plan;
  bool draftGiven = false;
  std::optional<SpeculationMode> mode;
  SpeculationOptions speculation;
  double acceptance = 0.8;
  OracleConfidence confidence = OracleConfidence::Calibrated;
  std::vector<int32_t> outputs; ///< the target's first tokens, if given
  bool fuse = true;
  double headMicros = 20;
  double wakeMicros = 80;
  std::string traceFile;

  // There is one request, unless the user asks for a load.
  bool isLoad = false;
  bench::WorkloadOptions load;
  bench::PromptShape prompt;
  bench::Workload requests;
  int64_t slots = 256;
  int64_t cachePages = 0; ///< 0 means as many as the slots can need
  double maxItlMs = 0;    ///< 0 means no limit
  bool reorders = true;

  // Options of scenarios from seeds.
  bool faults = false;
  bool breaks = false;           ///< also faults that a run cannot survive
  std::optional<uint64_t> seeds; ///< the number of seeds

  uint64_t seed = 1;
  bool json = false;

  /// Returns whether scenarios are run rather than a cluster.
  bool runsScenarios() const { return clusterFile.empty() && !steps; }
};

/// Reads the command line. `exit` is set for --help, --version and wrong usage.
SimOptions parseOptions(int argc, char **argv, std::optional<ExitNow> &exit);

} // namespace sluice::simulator

#endif // SLUICE_TOOLS_SLUICE_SIM_SIMOPTIONS_H
