//===- RankRuntime.h - one rank with its roles ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank of a job with its roles: the head, the draft, a stage. Reads what
// arrives and gives it to the role that it is for, carries what they send, and
// ends in order.
//
//   head's rank:    rank.start(); rank.head().submit(...); ... rank.shutDown()
//   other ranks:    rank.start(); rank.serve();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_RANKRUNTIME_H
#define SLUICE_RUNTIME_PIPELINE_RANKRUNTIME_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/Frame.h"
#include "runtime/core/FrameCount.h"
#include "runtime/pipeline/HeadLoop.h"
#include "runtime/pipeline/RankSetup.h"

#include <condition_variable>
#include <thread>

namespace sluice::pipeline {

/// Thread-safe where it says so; the rest belongs to the thread that made it.
class RankRuntime final : HeadLinks {
public:
  /// Errors: limits or options that do not fit together. `communicator`
  /// outlives the rank.
  static Expected<std::unique_ptr<RankRuntime>>
  create(RankSetup setup, comm::Communicator &communicator);
  ~RankRuntime() override;

  /// Starts all threads.
  void start();

  /// Rank 0: where requests are submitted. Thread-safe.
  HeadLoop &head() { return *headLoop; }

  /// Other ranks: until the head says that it is over, or something failed.
  /// Sends this rank's report. `terminated`, which may be null, says whether
  /// this process has been told to end: where the head does not end its
  /// requests within a moment, as it does where it has been told the same, this
  /// rank breaks the job.
  Status serve(const std::function<bool()> &terminated);

  /// Rank 0: ends all ranks and gathers their reports, this one's first. Waits
  /// as long as the ranks are alive: for the longest step. Errors: a rank
  /// failed.
  Expected<std::vector<RankReport>> shutDown();

  /// Rank 0: ends all ranks at once, since `reason`.
  void abort(const Status &reason);

  /// Guesses of all requests. Only after shutDown().
  SpeculationCounters speculation() const { return headLoop->counters(); }
  /// What the roles still hold; all zero after the last request's end. Only
  /// after shutDown() or serve().
  Stage::Holdings holdings() const;

private:
  RankRuntime(RankSetup setup, comm::Communicator &communicator);
  Status checkMessages() const;
  Status createStage();
  Status createDraft();
  Status createHead();
  std::string stageName() const;
  bool followsGroup() const { return stageGroup && !stageGroup->isFirst(); }
  Status decodeStep(ArrivedFrame &arrival);
  std::unique_ptr<StepOutput> stageOutput();
  std::unique_ptr<StepOutput> forwardOutput();
  int64_t payloadRowBytes() const;
  RoleTrace traceFor(trace::Track track);
  comm::FrameLimits frameLimits() const;

  // RankMessages.cpp: called on the communicator's thread.
  void take(comm::Message message);
  Status read(comm::Message &message);
  Status readStep(comm::Message &message);
  Status readResults(const comm::Message &message);
  Status readEpochs(const comm::Message &message);
  Status readReport(const comm::Message &message);

  // HeadLinks, in RankMessages.cpp: called on the head's thread.
  Status launch(const StepFrame &frame) override;
  Status draft(StepFrame frame) override;
  Status cancel(const EpochMark &mark, Time decided) override;
  void reported(const UserToken &token, Time at) override;
  void reported(const UserEnd &end, Time at) override;
  void note(const PolicyNote &note, Time at) override;

  void release(ArrivedFrame arrival);
  Status sendRows(int64_t to, const StepFrame &frame,
                  const device::DeviceRows &rows);
  Status sendData(int64_t to, comm::Bytes bytes, int64_t rows, uint64_t step,
                  RoleTrace &trace, int64_t emulatedBytes = 0);
  void passEndOn();
  bool requestsEnded() const;
  Status waitForEnd(const std::function<bool()> &terminated);
  void endExchanges(const Status &reason);
  void fail(const Status &reason);
  void stopWorkers();
  RankReport report() const;

  RankSetup setup;
  comm::Communicator &comm;
  comm::FrameCodec codec;
  EpochBoard board;
  /// The draft's own: its frames' marks are ahead of those that follow the rows
  /// down the stages, and cancel nothing there.
  EpochBoard draftBoard;

  /// What has come, counted on the communicator's thread: from the head or the
  /// stage before, and from the last stage.
  FrameCount stepsCome, resultsCome;

  std::unique_ptr<StageGroup> stageGroup; ///< null: the stage is this rank's
  std::unique_ptr<HeadLoop> headLoop;
  std::unique_ptr<StageWorker> stageWorker;
  std::unique_ptr<StageWorker> draftWorker;
  std::vector<std::thread> threads;

  /// By track, and one for the communicator's thread.
  TraceBuffer headEvents, draftEvents, stageEvents, commEvents;
  RoleTrace headTrace, stageTrace, commTrace;

  std::mutex mutex;
  std::condition_variable changed;
  Status failed;                   ///< the first failure known here
  bool stageEnded = false;         ///< the end has passed this rank's stage
  bool over = false;               ///< what fails now is of no interest
  std::vector<RankReport> reports; ///< of other ranks, on rank 0
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANKRUNTIME_H
