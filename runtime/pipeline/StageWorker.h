//===- StageWorker.h - the thread of a stage ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   StageWorker worker(std::move(config), board, compute, output, trace);
//   std::thread thread([&] { worker.run(); });
//   worker.arrive(std::move(arrival));       // from the communication thread
//   worker.close(); thread.join();
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

/// A frame that has come to a stage's mailbox, with its rows' activations.
struct ArrivedFrame {
  StepFrame frame;
  comm::Bytes bytes; ///< what `activations` refers to
  comm::ActivationRows activations;
  bool last = false; ///< no frame, but the end: nothing comes behind
  comm::DevicePayload payload = {}; ///< or they are in a device's memory
};

struct StageWorkerConfig {
  std::string name; ///< "stage 0", "draft"
  int64_t rank = 0;
  StageLimits limits;
  /// Of the rows that come in. The plan's, not a frame's: a frame without rows
  /// says nothing of it.
  ActivationFormat incomingFormat = ActivationFormat::F32;
  /// They come into the device's memory: a row has so many bytes. 0: they do
  /// not.
  int64_t payloadRowBytes = 0;
  int64_t pages = 0; ///< of the cache
  /// Where the stage is computed by several ranks: this one's end, which
  /// outlives the worker. Frames arrive at the first member alone.
  StageGroup *group = nullptr;
  /// Of a member that is not the first: reads Arrival::bytes.
  std::function<Status(ArrivedFrame &)> readFrame;
};

/// The thread around the pure Stage: takes all that is queued in its mailbox,
/// computes it as one step with checkpoints, and passes on what lives.
class StageWorker {
public:
  /// What the worker tells, on its own thread.
  struct Events {
    std::function<void(Status)> failed; ///< once, and run() returns
    std::function<void()> roomChanged;  ///< hasRoom() may have changed
    std::function<void()> ended; ///< all before Arrival::last has been sent on
    /// Of no more use; `activations` refers to nothing. Null: none travel.
    std::function<void(ArrivedFrame)> released;
  };

  /// Errors: limits that do not fit together. `board` is the rank's and
  /// outlives the worker; so does `trace`. `pacer` may be null: no emulation.
  static Expected<std::unique_ptr<StageWorker>>
  create(StageWorkerConfig config, EpochBoard &board,
         std::unique_ptr<StepCompute> compute,
         std::unique_ptr<StepOutput> output, std::unique_ptr<StepPacer> pacer,
         RoleTrace trace, Events events);

  /// The thread's body: until close(), Arrival::last, or a failure. Where there
  /// is a group, no step begins before all members are here.
  void run();

  /// Thread-safe; see Mailbox. There is room for as many frames as the stage
  /// itself can hold, which takes them from the mailbox only as it has room.
  bool hasRoom() const { return mailbox.hasRoom(); }
  /// Frames that no step has taken in whole, about.
  int64_t waiting() const { return mailbox.size() + atStage; }
  void arrive(ArrivedFrame arrival) { mailbox.push(std::move(arrival)); }
  void close() { mailbox.close(); }

  /// Only after run() has returned.
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
  Mailbox<ArrivedFrame> mailbox; ///< before the output, which may call wake()
  std::unique_ptr<StepCompute> compute;
  std::unique_ptr<StepOutput> output;
  std::unique_ptr<StepPacer> pacer;
  RoleTrace trace;
  Events events;
  std::atomic<int64_t> atStage{0}; ///< stage->queued(); for waiting() alone

  bool open = true;   ///< frames may still come
  bool atEnd = false; ///< Arrival::last has come
  std::vector<ArrivedFrame> taken;
  /// Frames whose activations may still be needed, the oldest first; the first
  /// has the number firstArrival.
  std::deque<ArrivedFrame> arrivals;
  uint64_t firstArrival = 0;
  uint64_t firstUntold = 0; ///< of the frames that the group does not know
  std::vector<std::span<const uint8_t>> untold;
  std::vector<comm::Bytes> heard;
  Status groupFailed;                     ///< at a checkpoint of the step
  std::vector<const uint8_t *> incoming;  ///< one for each row of the step
  std::vector<uint64_t> incomingOnDevice; ///< or this
  std::vector<OutputRequest> requests;    ///< one for each output of the step
  std::vector<uint8_t> found;             ///< one for each row: 0 where dead
  /// Emulation: those of steps that no row was left of are made by the next.
  std::vector<PageCopy> copies;
  StepFrame outgoing;

  Time lastEnd{0};
  Time busy{0}, idle{0};
  uint64_t barriers = 0;
  Time waited{0}; ///< in them
  LatencyHistogram cancelLatency;
};

} // namespace sluice::pipeline

#endif // SLUICE_RUNTIME_PIPELINE_STAGEWORKER_H
