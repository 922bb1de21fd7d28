//===- SimulationPlan.h - runs of described machines ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a described cluster and described models to a simulation: the stages are
// cut and placed as the compiler would, steps and messages take what the cost
// model says, as in an emulated run (runtime/pipeline/Emulation.h).
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_SIMULATIONPLAN_H
#define SLUICE_RUNTIME_SIM_SIMULATIONPLAN_H

#include "runtime/cluster/ClusterFile.h"
#include "runtime/cluster/Partition.h"
#include "runtime/sim/Simulation.h"

#include <string>
#include <vector>

namespace sluice::sim {

struct PlanOptions {
  std::string target; ///< a described model; empty: the file's
  std::string draft;  ///< likewise; unused where `placement` is None
  int64_t stages = 0; ///< 0: as many as are best
  SimPlacement placement = SimPlacement::Own;
  /// The chance that a guess comes true, in [0, 1); 0 where nobody guesses. The
  /// number of stages that is best depends on it, nothing else.
  double acceptance = 0.8;
  /// Positions that rows attend to, for times and memory; prompt and output
  /// must fit in it.
  int64_t context = 1024;
  int64_t activationBytes = 4; ///< of a number on a link
  /// No stretch without a checkpoint is longer; 0: no checkpoints.
  Time maxLatency{std::chrono::microseconds(500)};
  /// Prompt rows of a step, where the latency allows so many.
  int64_t prefillRows = 512;
};

struct SimulationPlan {
  std::string cluster, target, draft;
  cluster::Partition partition;
  std::vector<std::string> places; ///< by rank
  /// Its speculation, oracles and requests are as they are by default;
  /// setLimits() is due once they are set.
  SimulationConfig config;
};

/// Errors: no such model, those of planPipeline(), numbers out of range.
Expected<SimulationPlan> planSimulation(const cluster::ClusterFile &file,
                                        const PlanOptions &options);

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_SIMULATIONPLAN_H
