//===- Load.h - simulation of many requests on one model ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_TOOLS_SLUICE_SIM_LOAD_H
#define SLUICE_TOOLS_SLUICE_SIM_LOAD_H

#include "SimOptions.h"

namespace sluice::simulator {

/// Adds the requests of the options, and sets how many of them run at a time
/// and how many cache pages they share.
void addRequests(const SimOptions &options, sim::SimulationConfig &config);

/// Returns a configuration of stages whose steps take the times of
/// `options.steps`.
sim::SimulationConfig lineConfig(const SimOptions &options);

/// Returns the outcome of the requests as one JSON object. `steps` is the
/// number of the first stage's steps that had rows; `step_rows` and
/// `step_outputs` give the rows and outputs of each. `overlap` is the mean
/// number of outputs of a step, divided by the number of requests.
/// `per_request` has the arrival and the times of each request.
std::string loadJson(const SimOptions &options,
                     const sim::SimulationConfig &config,
                     const sim::SimulationResult &result);

/// Returns the same as text for people.
std::string loadText(const SimOptions &options,
                     const sim::SimulationConfig &config,
                     const sim::SimulationResult &result);

} // namespace sluice::simulator

#endif // SLUICE_TOOLS_SLUICE_SIM_LOAD_H
