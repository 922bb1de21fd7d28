//===- PipelineReport.h - the report about a pipeline's ranks -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reports what the ranks of a pipeline did, as JSON and as text.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_APP_PIPELINEREPORT_H
#define SLUICE_RUNTIME_APP_PIPELINEREPORT_H

#include "runtime/pipeline/ReportJson.h"
#include "runtime/text/JsonWriter.h"

#include <string>

namespace sluice::app {

/// Adds the members that ReportJson.h names to an object.
void writePipelineReport(text::JsonWriter &json,
                         const pipeline::PipelineOutcome &outcome);

/// Returns one line: "speculation: 312 guesses, 198 accepted (63.5 %), ...".
std::string describeSpeculation(const pipeline::PipelineOutcome &outcome);

} // namespace sluice::app

#endif // SLUICE_RUNTIME_APP_PIPELINEREPORT_H
