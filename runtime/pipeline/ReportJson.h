//===- ReportJson.h - the JSON report of a run ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON schema of a pipeline's report, for real and for simulated runs:
//
//   speculation   mode, depth, width, launched, accepted, cancelled,
//                 computed_dead, epochs, drafted
//   draft         a worker; not there without a draft
//   stages        a list of workers, the first stage first
//   traffic       messages, bytes: of all hops and both lanes; hops: a list of
//                 from, to, messages, bytes, control_messages, control_bytes
//
// A worker has name, rank, steps, rows, dropped_at_door, left_at_checkpoints,
// guesses, computed_dead (of stages), busy_seconds, idle_seconds, checkpoints,
// tombstones, and cancel_latency_us: count, p50, p99, max. With a trace, and if
// threads compute, it also has barriers and wait_seconds, the time that a
// thread waited in them on average.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_REPORTJSON_H
#define SLUICE_RUNTIME_PIPELINE_REPORTJSON_H

#include "runtime/core/Head.h"
#include "runtime/core/Speculation.h"
#include "runtime/pipeline/RankReport.h"

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace sluice::pipeline {

struct PipelineOutcome {
  SpeculationOptions options;
  SpeculationCounters speculation;
  std::vector<RankReport> ranks; ///< by rank
};

/// Returns "off", "sync" or "async".
std::string_view modeName(SpeculationMode mode);

/// Returns the report's members, in order.
nlohmann::ordered_json toJson(const PipelineOutcome &outcome);

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_REPORTJSON_H
