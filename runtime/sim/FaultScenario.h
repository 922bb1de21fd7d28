//===- FaultScenario.h - small runs with faults ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small runs in which everything that may go wrong does: from one number, a
// pipeline of a few stages, requests, a draft, links and their faults.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_FAULTSCENARIO_H
#define SLUICE_RUNTIME_SIM_FAULTSCENARIO_H

#include "runtime/sim/Simulation.h"

#include <string>

namespace sluice::sim {

/// The scenario of a seed: the same for the same seed everywhere.
/// Stages, row limits, step and link times, the draft's quality, modes and
/// limits of speculation, requests with their lengths, stop tokens and users
/// who change their mind; and, if `faults`, delayed messages, slow steps, and
/// lost, late, doubled cancels. With `breaks` also what a run does not get
/// over: messages that are lost or come twice, ranks that die.
SimulationConfig makeScenario(uint64_t seed, bool faults, bool breaks = false);

/// What the scenario is, on one line.
std::string describeScenario(const SimulationConfig &config);

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_FAULTSCENARIO_H
