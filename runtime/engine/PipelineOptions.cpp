//===- PipelineOptions.cpp - how the ranks of a job run -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/PipelineOptions.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::engine;

std::string_view engine::transportName(TransportOption transport) {
  switch (transport) {
  case TransportOption::Auto:
    return "auto";
  case TransportOption::Nccl:
    return "nccl";
  case TransportOption::Host:
    break;
  }
  return "host";
}

bool PipelineOptions::isGiven(std::string_view name) const {
  return std::find(given.begin(), given.end(), name) != given.end();
}

std::string PipelineOptions::needsPipeline() const {
  for (const std::string &name : given)
    // `--speculate off` also holds without a pipeline.
    if (name != "--speculate" || speculation.mode != SpeculationMode::Off)
      return name;
  return "";
}
