//===- RankReport.h - a rank's report at the end of a job -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The report that a rank sends to the head's rank at the end: one part for each
// of its stages, and what it has sent to each other rank.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANKREPORT_H
#define SLUICE_RUNTIME_PIPELINE_RANKREPORT_H

#include "runtime/base/Status.h"
#include "runtime/comm/Communicator.h"
#include "runtime/pipeline/LatencyHistogram.h"
#include "runtime/trace/TraceEvent.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::pipeline {

/// The report of one stage, or of the draft.
struct StageReport {
  std::string name; ///< "stage 0", "draft"
  int64_t rank = 0;
  int64_t member = 0;                ///< the rank's number in the stage's group
  uint64_t steps = 0;                ///< with at least one row
  uint64_t rows = 0;                 ///< rows at the start of steps
  uint64_t departedAtCheckpoint = 0; ///< of these, rows that left
  /// Guesses among these rows that stayed to the end of their step.
  uint64_t guesses = 0;
  uint64_t droppedAtMailbox = 0; ///< rows that were dead before any step
  uint64_t checkpoints = 0; ///< if emulated, those of the described hardware
  uint64_t tombstones = 0;
  double busySeconds = 0;
  double idleSeconds = 0; ///< waiting between the first and the last step
  /// Only with a trace, if threads compute: how many barriers each of them
  /// passed in all steps, and how long a thread waited in them on average.
  uint64_t barriers = 0;
  double waitSeconds = 0;
  /// The time from the head's decision to the departure of the dead rows from
  /// this stage's step: one value for each cancel and each step that lost rows
  /// by it. Rows that were dropped in the mailbox do not count, because they
  /// were not computed. Nor do rows that died by a mark of a frame, which came
  /// before the cancel.
  LatencyReport cancelLatency;
};

struct RankReport {
  int64_t rank = 0;
  /// The clock that this rank's times are from; see clockIdentity().
  uint64_t clock = 0;
  std::vector<StageReport> stages;
  std::vector<comm::Traffic> traffic;
  /// Events that were dropped because the buffer was full.
  uint64_t lostEvents = 0;
  std::vector<trace::TraceEvent> events; ///< empty without a trace

  /// Removes the latencies and the trace if this rank's clock is not `head`,
  /// the clock of the head's rank: they compare times of both clocks, which
  /// would be meaningless.
  void forgetTimesOfOtherClocks(uint64_t head);

  /// Writes packed numbers, then the events as they lie in memory, because all
  /// ranks run the same executable.
  std::string serialize() const;
  /// Fails on text that serialize() does not write, and on an event of another
  /// rank or with impossible values.
  static Expected<RankReport> parse(std::string_view text);
};

/// The largest size of a report without its events, in bytes.
constexpr int64_t reportBytesBesideEvents = int64_t{1} << 20;

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANKREPORT_H
