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

#include "runtime/pipeline/ReportJson.h"
#include "runtime/text/JsonWriter.h"
#include "runtime/trace/TraceWriter.h"

#include <string>
#include <vector>

namespace sluice::app {

/// Adds the members that ReportJson.h names to an object.
void writePipelineReport(text::JsonWriter &json,
                         const pipeline::PipelineOutcome &outcome);

/// One line: "speculation: 312 guesses, 198 accepted (63.5 %), ...".
std::string describeSpeculation(const pipeline::PipelineOutcome &outcome);

/// Writes all events, messages as spans, and ends the file; says on stderr
/// which are missing. `names[r]` says what rank r is. Changes the events.
Status writeTrace(trace::TraceWriter &writer,
                  std::vector<pipeline::RankReport> &ranks,
                  const std::vector<std::string> &names);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_PIPELINEREPORT_H
