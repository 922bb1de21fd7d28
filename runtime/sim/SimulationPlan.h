//===- SimulationPlan.h - simulations of described machines ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a simulation from a described cluster and described models: stages are
// cut and placed as by the compiler, and steps and messages take the times of
// the cost model, as in an emulated run (runtime/pipeline/Emulation.h).
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
  std::string target; ///< a described model; if empty, that of the file
  std::string draft;  ///< likewise; unused if `placement` is None
  int64_t stages = 0; ///< 0: the best number
  SimPlacement placement = SimPlacement::Own;
  /// The chance that a guess comes true, in [0, 1); 0 without guesses. Only the
  /// best number of stages depends on it.
  double acceptance = 0.8;
  /// Positions that rows attend to, for times and memory; prompt and output
  /// must fit in.
  int64_t context = 1024;
  int64_t activationBytes = 4; ///< the size of an activation on a link
  /// The longest stretch between two checkpoints; 0 for no checkpoints.
  Time maxLatency{std::chrono::microseconds(500)};
  /// How many prompt rows a step can have, if the latency allows so many.
  int64_t prefillRows = defaultStepRows;
};

struct SimulationPlan {
  std::string cluster, target, draft;
  cluster::Partition partition;
  std::vector<std::string> places; ///< by rank
  /// Speculation, oracles and requests have their defaults. setLimits() must be
  /// called once they are set.
  SimulationConfig config;
};

/// Fails if there is no such model, as planPipeline() does, and on numbers out
/// of range.
Expected<SimulationPlan> planSimulation(const cluster::ClusterFile &file,
                                        const PlanOptions &options);

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_SIMULATIONPLAN_H
