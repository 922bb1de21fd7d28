//===- SimReport.h - the results of a simulated run -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_SIM_SIMREPORT_H
#define SLUICE_TOOLS_SLUICE_SIM_SIMREPORT_H

#include "runtime/sim/SimulationPlan.h"

#include <string>

namespace sluice::simulator {

/// Returns the results of a run on a cluster as one JSON object, with the names
/// that executables use.
std::string reportJson(const sim::SimulationPlan &plan,
                       const sim::SimulationConfig &config,
                       const sim::SimulationResult &result);

/// Returns the same as text for people.
std::string reportText(const sim::SimulationPlan &plan,
                       const sim::SimulationConfig &config,
                       const sim::SimulationResult &result);

} // namespace sluice::simulator

#endif // SLUICE_TOOLS_SLUICE_SIM_SIMREPORT_H
