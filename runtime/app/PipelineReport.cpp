//===- PipelineReport.cpp - the report about a pipeline's ranks -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/app/PipelineReport.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::app;

using pipeline::modeName;
using pipeline::PipelineOutcome;

void app::writePipelineReport(text::JsonWriter &json,
                              const PipelineOutcome &outcome) {
  nlohmann::ordered_json members = pipeline::toJson(outcome);
  for (const auto &[name, value] : members.items())
    json.key(name).json(value.dump());
}

std::string app::describeSpeculation(const PipelineOutcome &outcome) {
  const SpeculationCounters &counters = outcome.speculation;
  double share = counters.launched > 0 ? 100.0 * double(counters.accepted) /
                                             double(counters.launched)
                                       : 0;
  char line[200];
  std::snprintf(line, sizeof(line),
                "speculation (%s): %lld guesses sent, %lld accepted (%.1f %%), "
                "%lld cancelled, %lld of them computed to their end",
                std::string(modeName(outcome.options.mode)).c_str(),
                static_cast<long long>(counters.launched),
                static_cast<long long>(counters.accepted), share,
                static_cast<long long>(counters.cancelled),
                static_cast<long long>(counters.computedDead));
  return line;
}
