//===- JobTrace.h - the trace of a job's ranks ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_JOBTRACE_H
#define SLUICE_RUNTIME_PIPELINE_JOBTRACE_H

#include "runtime/pipeline/RankReport.h"
#include "runtime/trace/TraceWriter.h"

#include <string>
#include <vector>

namespace sluice::pipeline {

/// Writes all events, with messages as spans, and ends the file; reports
/// missing events on stderr. `names[r]` describes rank r. Modifies the events.
Status writeTrace(trace::TraceWriter &writer, std::vector<RankReport> &ranks,
                  const std::vector<std::string> &names);

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_JOBTRACE_H
