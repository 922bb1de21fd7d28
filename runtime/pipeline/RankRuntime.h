//===- RankRuntime.h - one rank of a job with its roles -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs one rank of a job with its roles: the head, the draft, a stage. It reads
// arriving messages and gives them to the right role, sends the roles'
// messages, and shuts down in order.
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

/// Methods are thread-safe where that is said; all others belong to the thread
/// that created the object.
class RankRuntime final : HeadLinks {
public:
  /// Fails if limits or options do not fit together. `communicator` must
  /// outlive the rank.
  static Expected<std::unique_ptr<RankRuntime>>
  create(RankSetup setup, comm::Communicator &communicator);
  ~RankRuntime() override;

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
  void reported(const TokenEvent &token, Time at) override;
  void reported(const RequestEnd &end, Time at) override;
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
  /// The draft's own board. The marks of its frames are ahead of those that
  /// follow the rows down the stages, and must not cancel rows there.
  EpochBoard draftBoard;

  /// Counts received frames, on the communicator's thread: those of the head or
  /// the stage before, and those of the last stage.
  FrameCount stepsCome, resultsCome;

  /// Null if this rank computes the stage alone.
  std::unique_ptr<StageGroup> stageGroup;
  std::unique_ptr<HeadLoop> headLoop;
  std::unique_ptr<StageWorker> stageWorker;
  std::unique_ptr<StageWorker> draftWorker;
  std::vector<std::thread> threads;

  /// One buffer for each track, and one for the communicator's thread.
  TraceBuffer headEvents, draftEvents, stageEvents, commEvents;
  RoleTrace headTrace, stageTrace, commTrace;

  std::mutex mutex;
  std::condition_variable changed;
  Status failed;           ///< the first failure that is known here
  bool stageEnded = false; ///< whether the end has passed this rank's stage
  bool over = false;       ///< whether failures do not matter any more
  std::vector<RankReport> reports; ///< the reports of other ranks, on rank 0
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_RANKRUNTIME_H
