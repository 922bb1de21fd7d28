//===- RankReport.h - what a rank reports at the end ----------------------===//
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

/// Of one stage, or of the draft.
struct StageReport {
  std::string name; ///< "stage 0", "draft"
  int64_t rank = 0;
  int64_t member = 0;                ///< of the group that computes the stage
  uint64_t steps = 0;                ///< with at least one row
  uint64_t rows = 0;                 ///< that steps began with
  uint64_t departedAtCheckpoint = 0; ///< of them
  /// Of them, guesses that stayed to the end of their step.
  uint64_t guesses = 0;
  uint64_t droppedAtMailbox = 0; ///< dead before any step
  uint64_t checkpoints = 0;      ///< emulated: those of the described hardware
  uint64_t tombstones = 0;
  double busySeconds = 0;
  double idleSeconds = 0; ///< waiting between its first and its last step
  /// Where a trace was asked for and threads compute: barriers that each of
  /// them passed in all steps, and what it waited in them, on average.
  uint64_t barriers = 0;
  double waitSeconds = 0;
  /// From the head's decision to the dead rows having left this stage's step:
  /// one for each cancel and step that it took rows out of. Rows that were
  /// dropped in the mailbox are in none: they were not computed at all. Nor are
  /// those that died of a mark that came with a frame, before the cancel.
  LatencyReport cancelLatency;
};

struct RankReport {
  int64_t rank = 0;
  /// Of the machine's clock, which this rank's times are of.
  uint64_t clock = 0;
  std::vector<StageReport> stages;
  std::vector<comm::Traffic> traffic;
  uint64_t lostEvents = 0;               ///< for which there was no room
  std::vector<trace::TraceEvent> events; ///< empty: no trace was asked for

  /// What compares times of this rank with those of the head, whose clock is
  /// `head`, means nothing where this rank has another: those latencies and the
  /// trace are taken out.
  void forgetTimesOfOtherClocks(uint64_t head);

  /// Packed numbers, then the events as they lie in memory: all ranks run the
  /// same executable.
  std::string serialize() const;
  /// Errors: not what serialize() writes; an event of another rank, or that
  /// none can be.
  static Expected<RankReport> parse(std::string_view text);
};

/// So much of a report is not events, at most.
constexpr int64_t reportBytesBesideEvents = int64_t{1} << 20;

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANKREPORT_H
