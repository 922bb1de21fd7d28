//===- RankTraces.h - the trace of a rank ---------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANK_RANKTRACES_H
#define SLUICE_RUNTIME_PIPELINE_RANK_RANKTRACES_H

#include "runtime/pipeline/RankReport.h"
#include "runtime/pipeline/RoleTrace.h"

namespace sluice::pipeline {

/// The events that a rank's threads record, each in a buffer of its own.
class RankTraces {
public:
  /// Records nothing unless `on`. `isHead` says whose track has what the
  /// communicator's thread records: the head's or the stage's.
  RankTraces(bool on, int64_t rank, bool isHead) {
    if (!on)
      return;
    head = RoleTrace(headEvents, rank, trace::Track::Head);
    draft = RoleTrace(draftEvents, rank, trace::Track::Draft);
    stage = RoleTrace(stageEvents, rank, trace::Track::Stage);
    comm = RoleTrace(commEvents, rank,
                     isHead ? trace::Track::Head : trace::Track::Stage);
  }
  // The roles' traces refer to the buffers.
  RankTraces(const RankTraces &) = delete;
  RankTraces &operator=(const RankTraces &) = delete;

  /// Appends all events to the report. Must be called after the threads have
  /// ended.
  void addTo(RankReport &report) const {
    for (const TraceBuffer *buffer :
         {&headEvents, &draftEvents, &stageEvents, &commEvents}) {
      report.lostEvents += buffer->lost;
      report.events.insert(report.events.end(), buffer->events.begin(),
                           buffer->events.end());
    }
  }

  RoleTrace head, draft, stage; ///< for the threads of these roles
  RoleTrace comm;               ///< for the communicator's thread

private:
  TraceBuffer headEvents, draftEvents, stageEvents, commEvents;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANK_RANKTRACES_H
