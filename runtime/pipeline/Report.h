//===- Report.h - what a rank reports at the end --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank tells the head's rank at the end: one report for each of its
// stages, and what it has sent to whom.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_REPORT_H
#define SLUICE_RUNTIME_PIPELINE_REPORT_H

#include "runtime/base/Status.h"
#include "runtime/comm/Communicator.h"
#include "runtime/core/Rows.h"
#include "runtime/trace/TraceEvent.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::pipeline {

/// Durations, of which percentiles are asked at the end. Keeps the first
/// `capacity` of them exactly; allocates nothing while it counts.
class LatencySamples {
public:
  static constexpr size_t capacity = 1 << 16;
  LatencySamples() { samples.reserve(capacity); }
  void add(Time latency) {
    if (samples.size() < capacity)
      samples.push_back(latency);
  }
  size_t count() const { return samples.size(); }
  /// Microseconds; 0 without samples. 0 <= share <= 1; 1 is the largest.
  double percentileMicros(double share) const;

private:
  std::vector<Time> samples;
};

struct LatencyReport {
  int64_t count = 0;
  double p50Micros = 0, p99Micros = 0, maxMicros = 0;
};
LatencyReport summarize(const LatencySamples &samples);

/// Of one stage, or of the draft.
struct StageReport {
  std::string name; ///< "stage 0", "draft"
  int64_t rank = 0;
  uint64_t steps = 0;
  uint64_t rows = 0; ///< computed to their end
  uint64_t droppedAtDoor = 0;
  uint64_t leftAtCheckpoint = 0;
  uint64_t checkpoints = 0;
  uint64_t tombstones = 0;
  double busySeconds = 0;
  double idleSeconds = 0; ///< waiting between its first and its last step
  /// From the head's decision to the dead rows having left this stage's step.
  LatencyReport cancelLatency;
};

struct RankReport {
  int64_t rank = 0;
  std::vector<StageReport> stages;
  std::vector<comm::Traffic> traffic;
  std::vector<trace::TraceEvent> events; ///< empty: no trace was asked for

  /// A line of JSON, then the events as they lie in memory: all ranks run the
  /// same executable.
  std::string serialize() const;
  /// Errors: not what serialize() writes.
  static Expected<RankReport> parse(std::string_view text);
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_REPORT_H
