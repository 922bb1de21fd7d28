//===- PipelineReport.h - what the ranks did ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the ranks of a pipeline did, for --json and for people.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_PIPELINEREPORT_H
#define SLUICE_RUNTIME_APP_PIPELINEREPORT_H

#include "runtime/app/JsonWriter.h"
#include "runtime/core/Head.h"
#include "runtime/pipeline/Report.h"
#include "runtime/trace/TraceWriter.h"

#include <string>
#include <vector>

namespace sluice::app {

struct PipelineOutcome {
  SpeculationMode mode = SpeculationMode::Off;
  SpeculationCounters speculation;
  std::vector<pipeline::RankReport> ranks; ///< by rank
};

/// Adds the members speculation, stages and traffic to an object.
void writePipelineReport(JsonWriter &json, const PipelineOutcome &outcome);

/// One line: "speculation: 312 guesses, 198 accepted (63.5 %), ...".
std::string describeSpeculation(const PipelineOutcome &outcome);

/// Writes all events and ends the file. `names[r]` says what rank r is.
Status writeTrace(trace::TraceWriter &writer,
                  const std::vector<pipeline::RankReport> &ranks,
                  const std::vector<std::string> &names);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_PIPELINEREPORT_H
