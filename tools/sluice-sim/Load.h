//===- Load.h - many requests on one model --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_SIM_LOAD_H
#define SLUICE_TOOLS_SLUICE_SIM_LOAD_H

#include "SimOptions.h"

namespace sluice::simulator {

/// The requests of the options, and how many of them run at a time in which
/// cache.
void addRequests(const SimOptions &options, sim::SimulationConfig &config);

/// Stages whose steps take what `options.steps` says.
sim::SimulationConfig lineConfig(const SimOptions &options);

/// What became of the requests, as one JSON object: `steps` of the first stage
/// that had rows, with each one's rows and those of them that were answered;
/// `overlap`, the answered rows of a step by all requests, in the mean; and for
/// each request when it came and how long it took.
std::string loadJson(const SimOptions &options,
                     const sim::SimulationConfig &config,
                     const sim::SimulationResult &result);

/// The same for people.
std::string loadText(const SimOptions &options,
                     const sim::SimulationConfig &config,
                     const sim::SimulationResult &result);

} // namespace sluice::simulator

#endif // SLUICE_TOOLS_SLUICE_SIM_LOAD_H
