//===- FaultScenario.h - random small runs with faults --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives small runs from a number: a pipeline of a few stages, requests, a
// draft, links and their faults. Everything that may go wrong does so in one of
// them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_FAULTSCENARIO_H
#define SLUICE_RUNTIME_SIM_FAULTSCENARIO_H

#include "runtime/sim/Simulation.h"

#include <string>

namespace sluice::sim {

/// Returns the scenario of a seed, which is the same everywhere. It chooses
/// stages, row limits, step and link times, the draft's quality, modes and
/// limits of speculation, and requests with their lengths, stop tokens and
/// users who cancel; if `faults` is set, also delayed messages, slow steps, and
/// lost, late and repeated cancels; if `breaks` is set, also faults that a run
/// does not survive: lost or repeated messages, and ranks that die.
SimulationConfig makeScenario(uint64_t seed, bool faults, bool breaks = false);

/// Returns a description of the scenario on one line.
std::string describeScenario(const SimulationConfig &config);

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_FAULTSCENARIO_H
