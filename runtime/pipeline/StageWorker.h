//===- StageWorker.h - the thread of a stage ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   auto worker = StageWorker::create(std::move(config), board, ...).take();
//   std::thread thread([&] { worker->run(); });
//   worker->arrive(std::move(arrival));      // from the communication thread
//   worker->close(); thread.join();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PIPELINE_STAGEWORKER_H
#define SLUICE_RUNTIME_PIPELINE_STAGEWORKER_H

#include "runtime/core/Stage.h"
#include "runtime/pipeline/Mailbox.h"
#include "runtime/pipeline/RankReport.h"
#include "runtime/pipeline/RoleTrace.h"
#include "runtime/pipeline/StageGroup.h"
#include "runtime/pipeline/StepCompute.h"
#include "runtime/pipeline/StepOutput.h"
#include "runtime/pipeline/StepPacer.h"

#include <atomic>
#include <deque>
#include <memory>

namespace sluice::pipeline {

/// A frame that has arrived at a stage, with its rows' activations.
struct ArrivedFrame {
  StepFrame frame;
  comm::Bytes bytes; ///< the memory that `activations` refers to
  comm::ActivationRows activations;
  /// Whether this is not a frame but the mark of the end, after which nothing
  /// follows.
  bool last = false;
  /// The rows in a device's memory, if they are not in `activations`.
  comm::DevicePayload payload = {};
};

struct StageWorkerConfig {
  std::string name; ///< "stage 0", "draft"
  int64_t rank = 0;
  StageLimits limits;
  /// The format of incoming rows. It comes from the plan, because a frame
  /// without rows does not say it.
  ActivationFormat incomingFormat = ActivationFormat::F32;
  /// The size of a row in bytes if rows arrive in the device's memory; 0 if
  /// they arrive in frames.
  int64_t payloadRowBytes = 0;
  int64_t pages = 0; ///< pages of the stage's cache
  /// Whether marks can come while a step is computed. If not, its checkpoints,
  /// at which all threads wait, are left out.
  bool hasCheckpoints = true;
  /// This member's end of the group, if several ranks compute the stage; must
  /// outlive the worker. Frames arrive at the first member only.
  StageGroup *group = nullptr;
  /// For a member that is not the first: decodes ArrivedFrame::bytes.
  std::function<Status(ArrivedFrame &)> readFrame;
};

/// A StageWorker is the thread around a pure Stage: it takes everything queued
/// in its mailbox, computes it as one step with checkpoints, and passes on the
/// living rows.
class StageWorker {
public:
  /// Callbacks, called on the worker's thread.
  struct Events {
    std::function<void(Status)> failed; ///< called once; then run() returns
    std::function<void()> roomChanged;  ///< hasRoom() may have changed
    /// Everything before ArrivedFrame::last has been sent.
    std::function<void()> ended;
    /// A frame is no longer needed; its `activations` are invalid. Null if no
    /// rows travel.
    std::function<void(ArrivedFrame)> released;
  };

  /// Fails if limits do not fit together. `board` is the rank's; `board` and
  /// `trace` must outlive the worker. `pacer` is null without emulation.
  static Expected<std::unique_ptr<StageWorker>>
  create(StageWorkerConfig config, EpochBoard &board,
         std::unique_ptr<StepCompute> compute,
         std::unique_ptr<StepOutput> output, std::unique_ptr<StepPacer> pacer,
         RoleTrace trace, Events events);

  /// The thread's body: runs until close(), ArrivedFrame::last, or a failure.
  /// In a group, it first waits at StageGroup::barrier() until all members are
  /// in run().
  void run();
  /// Takes the frames that have arrived and computes one step of them, if there
  /// are any, without waiting: for callers that have no thread for run(),
  /// always from the same thread. Not for a group or with emulation.
  Status poll();

  /// Thread-safe; see Mailbox. The mailbox has room for StageLimits::frames
  /// frames. The worker moves frames on to the stage, which holds as many
  /// again, only while the stage has room.
  bool hasRoom() const { return mailbox.hasRoom(); }
  /// Returns approximately how many frames no step has taken completely.
  int64_t waiting() const { return mailbox.size() + atStage; }
  void arrive(ArrivedFrame arrival) { mailbox.push(std::move(arrival)); }
  void close() { mailbox.close(); }

  /// Returns the worker's report. Must be called after run() has returned.
  StageReport report() const;
  Stage::Holdings holdings() const { return stage->holdings(); }

private:
  explicit StageWorker(StageWorkerConfig config);

  Status runAll();
  Status runSteps();
  Status followSteps();
  Status admitArrivals(bool wait);
  Status admit(ArrivedFrame arrival);
  Status tellStep();
  Status runStep();
  Status computeStep(Time start);
  Status computeRows(std::span<const PageCopy> pageCopies);
  void findIncoming();
  void traceIncoming();
  void traceOutgoing();
  void traceNotFinite(const Row &row, trace::RowPlace place);
  Time pace(Time start);
  std::span<const RowMove> checkpoint();
  void agree();
  std::span<const RowMove> noteLeft(uint64_t before, Time at,
                                    std::span<const RowMove> moves);
  bool follows() const { return config.group && !config.group->isFirst(); }
  void releaseArrivals();
  StageTiming account(Time start, int64_t rows, uint64_t departedBefore);
  void accountWaits();

  class Checkpoints;

  StageWorkerConfig config;
  std::optional<CachePages> pages;
  std::optional<Stage> stage;
  Mailbox<ArrivedFrame> mailbox; ///< precedes the output, which may call wake()
  std::unique_ptr<StepCompute> compute;
  std::unique_ptr<StepOutput> output;
  std::unique_ptr<StepPacer> pacer;
  RoleTrace trace;
  Events events;
  std::atomic<int64_t> atStage{0}; ///< stage->queued(), for waiting()

  bool open = true;   ///< whether frames may still come
  bool atEnd = false; ///< whether ArrivedFrame::last has come
  std::vector<ArrivedFrame> taken;
  /// Frames whose activations may still be needed, the oldest first; the first
  /// one has the number firstArrival.
  std::deque<ArrivedFrame> arrivals;
  uint64_t firstArrival = 0;
  uint64_t firstUntold = 0; ///< the first frame that the group does not know
  std::vector<std::span<const uint8_t>> untold;
  std::vector<comm::Bytes> heard;
  Status groupFailed; ///< the group's error at a checkpoint of the step
  std::vector<const uint8_t *> incoming; ///< one for each row of the step
  /// The rows' addresses in the device's memory, if they are not in `incoming`.
  std::vector<uint64_t> incomingOnDevice;
  std::vector<OutputRequest> requests; ///< one for each output of the step
  std::vector<uint8_t> found;          ///< one for each row: 0 if dead
  /// Used with emulation only. The page copies that the next computed step
  /// makes: its own, and those of earlier steps that lost all their rows before
  /// they were computed.
  std::vector<PageCopy> copies;
  StepFrame outgoing;

  int64_t notFinite = 0; ///< rows that the trace has, or would have, as such
  Time lastEnd{0};
  Time busy{0}, idle{0};
  uint64_t barriers = 0;
  Time waited{0}; ///< in barriers
  LatencyHistogram cancelLatency;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_STAGEWORKER_H
