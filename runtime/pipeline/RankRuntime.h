//===- RankRuntime.h - one rank of a job with its roles -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs one rank of a job with its roles: the head, the draft, a stage. It
// starts their threads, ends the job when one of them fails, and shuts down in
// order. The parts in pipeline/rank make the roles and carry their messages.
//
//   head's rank:    rank.start(); rank.head().submit(...); ... rank.shutDown()
//   other ranks:    rank.start(); rank.serve();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANKRUNTIME_H
#define SLUICE_RUNTIME_PIPELINE_RANKRUNTIME_H

#include "runtime/pipeline/rank/RankHeadLinks.h"
#include "runtime/pipeline/rank/RankReceiver.h"

#include <thread>

namespace sluice::pipeline {

/// Methods are thread-safe where that is said; all others belong to the thread
/// that created the object.
class RankRuntime {
public:
  /// Fails if limits or options do not fit together. `communicator` must
  /// outlive the rank.
  static Expected<std::unique_ptr<RankRuntime>>
  create(RankSetup setup, comm::Communicator &communicator);
  ~RankRuntime();

  /// Starts all threads.
  void start();

  /// Rank 0: returns the head, to which requests are submitted. Thread-safe.
  HeadLoop &head() { return *headLoop; }

  /// Other ranks: serves until the head ends the job or something fails, and
  /// sends this rank's report. `terminated`, which may be null, returns whether
  /// this process has been told to terminate. Then this rank breaks the job,
  /// unless the head ends its requests within a moment, as it does if it was
  /// told to terminate too.
  Status serve(const std::function<bool()> &terminated);

  /// Rank 0: ends all ranks and returns their reports, this rank's first. Waits
  /// as long as the ranks are alive, which can be as long as the longest step.
  /// Fails if a rank has failed.
  Expected<std::vector<RankReport>> shutDown();

  /// Rank 0: ends all ranks at once; `reason` is why.
  void abort(const Status &reason);

  /// Returns the counters of guesses of all requests. Must be called after
  /// shutDown().
  SpeculationCounters speculation() const { return headLoop->counters(); }
  /// Returns what the roles still hold; all zero after the last request's end.
  /// Must be called after shutDown() or serve().
  Stage::Holdings holdings() const;

private:
  RankRuntime(RankSetup setup, comm::Communicator &communicator);
  Status createStage();
  Status createHead();
  Status createDraft();
  bool followsGroup() const { return stageGroup && !stageGroup->isFirst(); }

  // Called on the threads of the roles and of the communicator.
  void passEndOn();
  void release(ArrivedFrame arrival);
  void fail(const Status &reason);
  void endExchanges(const Status &reason);

  bool requestsEnded() const;
  Status waitForEnd(const std::function<bool()> &terminated);
  void stopWorkers();
  RankReport report() const;

  RankSetup setup;
  comm::Communicator &comm;
  comm::FrameCodec codec;
  RankTraces traces;
  JobState job;
  EpochBoard board, draftBoard;
  RankSender sender;
  RankHeadLinks links;
  /// Null if this rank computes the stage alone.
  std::unique_ptr<StageGroup> stageGroup;
  // Each is null if the rank does not have the role.
  std::unique_ptr<HeadLoop> headLoop;
  std::unique_ptr<StageWorker> stageWorker;
  std::unique_ptr<StageWorker> draftWorker;
  std::optional<RankReceiver> receiver; ///< set by start()
  std::vector<std::thread> threads;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANKRUNTIME_H
