//===- Worker.h - steps that only take time -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worker computes the steps of a stage in virtual time: it drives the same
// core Stage as a worker with threads and kernels does, but a step is only the
// time that it takes. When it is idle and its mailbox is not empty, it forms a
// step.
//
// A step is made of stretches of equal length with a checkpoint between each
// two. Where rows leave at a checkpoint, the stretches behind it take what they
// take with the rows that are left; with none left the step ends there.
// Checkpoints at which nothing new is known cost no event: the next one is
// looked up when a mark arrives.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_SIM_WORKER_H
#define SLUICE_RUNTIME_SIM_WORKER_H

#include "runtime/cluster/CostModel.h"
#include "runtime/core/Stage.h"
#include "runtime/sim/CacheContents.h"
#include "runtime/sim/World.h"

#include <functional>
#include <optional>

namespace sluice::sim {

/// What steps take.
struct StepModel {
  /// byRows[r - 1]: a step of r rows without its outputs; at least one. Longer
  /// steps follow the line through the last two.
  std::vector<Time> byRows;
  /// What the outputs add: byOutputs[o - 1] for o of them, continued likewise.
  /// Empty: nothing.
  std::vector<Time> byOutputs;
  /// No part of a step without a checkpoint is longer; 0: no checkpoints.
  Time maxStretch{0};
  /// Without reordering: a request that has ended leaves a hole among the slots
  /// below the highest one in the step, which takes what its row took.
  bool keepsHoles = false;

  Time step(int64_t rows, int64_t outputs) const;
  /// Of a decoding step, where every row wants an output.
  Time step(int64_t rows) const { return step(rows, rows); }
  /// Parts of equal length, between which there are checkpoints.
  int64_t stretches(Time step) const {
    return cluster::stretchCount(step, maxStretch);
  }
};

class Worker;

/// A rank: what has been confirmed as far as its stage and its draft know, and
/// its device, which computes one step at a time for all workers of the rank.
struct Rank {
  explicit Rank(int64_t requests) : board(requests), draftBoard(requests) {}
  EpochBoard board;
  /// The draft's frames have marks that are ahead of those that follow the rows
  /// down the stages.
  EpochBoard draftBoard;
  std::vector<Worker *> workers;
  Worker *computing = nullptr;
  std::vector<Worker *> waiting;
  /// It has died, or has given up: it does nothing any more.
  bool isDead = false;

  /// A mark that the head decided at `decided` has come out of band.
  void publish(const EpochMark &mark, Time decided);
};

struct WorkerSetup {
  int32_t rank = 0;
  trace::Track track = trace::Track::Stage;
  StageLimits limits;
  int64_t pages = 0; ///< of the cache
  StepModel model;
  Time wakeUp{0}; ///< of an idle worker, from a frame's arrival
  /// Checks after each step that rows find their paths in the cache.
  bool checkCache = false;
};

struct StepSize {
  int32_t rows = 0, outputs = 0;
};

/// What a worker has done.
struct WorkerCounters {
  /// Passed; those at which nothing was new, which the core did not see, too.
  uint64_t checkpoints = 0;
  Time busy{0};
  Time idle{0}; ///< between its first and its last step
  /// Of each step, as it began: its rows, and those of them that were answered.
  std::vector<StepSize> steps;
  /// From the head's decision until dead rows were no longer computed: one for
  /// each cancel and step that it took rows out of.
  std::vector<Time> cancelLatencies;
};

/// The common part of stages and the draft. Thread-compatible; stays where it
/// was made.
class Worker : public EventTarget {
public:
  virtual ~Worker() = default;
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  /// A frame has come to the mailbox. Its marks are seen by the next step, or
  /// at a checkpoint that something else is the reason for.
  void arrive(StepFrame frame);
  /// The rank's board has changed.
  void boardChanged();
  /// The device is free, for this worker.
  void deviceFree();

  void onEvent(uint64_t what) override;

  const WorkerCounters &counters() const { return counted; }
  const Stage &core() const { return *stage; }
  int32_t rankNumber() const { return setup.rank; }

protected:
  Worker(World &world, Rank &rank, WorkerSetup setup);
  /// Before anything else.
  Status open();

  /// A frame is in the mailbox as this number; its sender counted it as `step`.
  virtual void queued(uint64_t number, uint64_t step) {}
  /// The step has been computed (or was empty): answer and end it.
  virtual void finish(const StageTiming &timing) = 0;

  World &world;
  std::optional<Stage> stage;

private:
  /// Events, behind the number of the step that they are of.
  enum Event : uint64_t { StepEnd, Checkpoint, WakeUp, eventKinds };

  EpochBoard &board() {
    return setup.track == trace::Track::Draft ? rank.draftBoard : rank.board;
  }
  void fail(const Status &error);
  void wake();
  void start();
  bool formStep();
  Time presentTime() const;
  void scheduleEnd();
  void checkpoint();
  void endStep();
  void finishChecked(const StageTiming &timing);

  Rank &rank;
  WorkerSetup setup;
  std::optional<CachePages> pages;
  std::optional<CacheContents> contents; ///< only with checkCache
  WorkerCounters counted;

  bool running = false;
  bool waking = false;     ///< idle, and about to look in the mailbox
  uint64_t generation = 0; ///< tells events of this step from older ones
  int64_t rowsAtStart = 0;
  int64_t stretches = 1; ///< of this step
  int64_t stretchesToGo = 0;
  double factor = 1;  ///< of this step's time
  Time began{0};      ///< the step
  Time sliceBegan{0}; ///< since when it has had its present rows
  Time stretch{0};
  Time idleSince{0};
  Time idle{0}; ///< before this step
  bool checkpointPending = false;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_WORKER_H
