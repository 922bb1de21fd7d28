//===- JobState.h - how far a rank's job is -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANK_JOBSTATE_H
#define SLUICE_RUNTIME_PIPELINE_RANK_JOBSTATE_H

#include "runtime/base/Status.h"
#include "runtime/pipeline/RankReport.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace sluice::pipeline {

/// Whether the job has failed or ended, as far as this rank knows, and the
/// reports of other ranks. Thread-safe.
class JobState {
public:
  /// Notes a failure. Returns whether it is the first one, and matters: none
  /// does once the job is over.
  bool fail(const Status &reason);
  /// Notes that the end has passed this rank's stage.
  void endStage();
  /// Notes the report of another rank.
  void add(RankReport report);

  /// Waits until the stage has ended or the job has failed, but no longer than
  /// `time`. Returns whether that has happened.
  bool waitForStage(std::chrono::milliseconds time);
  /// Makes the job be over unless it has failed. Returns why it has failed, or
  /// success.
  Status settle();
  /// Waits for the reports of `others` ranks and, with `hasStage`, for the end
  /// of this rank's stage. The job is over then. Fails if the job does.
  Expected<std::vector<RankReport>> waitForReports(size_t others,
                                                   bool hasStage);

private:
  std::mutex mutex;
  std::condition_variable changed;
  Status failed;           ///< the first failure
  bool stageEnded = false; ///< whether the end has passed this rank's stage
  bool over = false;       ///< whether failures do not matter any more
  std::vector<RankReport> reports;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANK_JOBSTATE_H
