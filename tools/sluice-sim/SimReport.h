//===- SimReport.h - what came out of a run -------------------------------===//
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

/// A run on a cluster as one JSON object, with the names that executables use.
std::string reportJson(const sim::SimulationPlan &plan,
                       const sim::SimulationConfig &config,
                       const sim::SimulationResult &result);

/// The same for people.
std::string reportText(const sim::SimulationPlan &plan,
                       const sim::SimulationConfig &config,
                       const sim::SimulationResult &result);

} // namespace sluice::simulator

#endif // SLUICE_TOOLS_SLUICE_SIM_SIMREPORT_H
