//===- Worker.h - a stage's worker in virtual time ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the steps of a stage in virtual time. It drives the same core Stage
// as a worker with threads and kernels does, but a step only takes time. If it
// is idle and its mailbox is not empty, it forms a step.
//
// A step consists of stretches of equal length with a checkpoint between each
// two. If rows leave at a checkpoint, the stretches after it take the time of
// the remaining rows; without any, the step ends there. A checkpoint without
// news costs no event: the next checkpoint is computed when a mark arrives.
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

/// The times of steps.
struct StepModel {
  /// byRows[r - 1] is the time of a step of r rows without its outputs; at
  /// least one entry. Longer steps are extrapolated along the last two entries.
  std::vector<Time> byRows;
  /// byOutputs[o - 1] is the time that o outputs add, extrapolated likewise.
  /// Empty: none.
  std::vector<Time> byOutputs;
  /// The longest part of a step without a checkpoint; 0 for no checkpoints.
  Time maxStretch{0};
  /// Models a runtime without reordering: a request that has ended leaves a
  /// hole among the slots below the highest one in the step, and the hole takes
  /// as much time as its row.
  bool keepsHoles = false;

  Time step(int64_t rows, int64_t outputs) const;
  /// Returns the time of a decoding step, in which every row wants an output.
  Time step(int64_t rows) const { return step(rows, rows); }
  /// Returns into how many stretches of equal length checkpoints divide a step.
  int64_t stretches(Time step) const {
    return cluster::stretchCount(step, maxStretch);
  }
};

class Worker;

/// A rank: the boards of its stage and its draft, and its device, which
/// computes one step at a time for all workers of the rank.
struct Rank {
  explicit Rank(int64_t requests) : board(requests), draftBoard(requests) {}
  EpochBoard board;
  /// The marks of the draft's frames are ahead of those that follow the rows
  /// down the stages.
  EpochBoard draftBoard;
  std::vector<Worker *> workers;
  Worker *computing = nullptr;
  std::vector<Worker *> waiting;
  /// Whether the rank has died or given up; then it does nothing any more.
  bool isDead = false;

  /// Takes an out-of-band mark that the head decided at `decided`.
  void publish(const EpochMark &mark, Time decided);
};

struct WorkerSetup {
  int32_t rank = 0;
  trace::Track track = trace::Track::Stage;
  StageLimits limits;
  int64_t pages = 0; ///< pages of the cache
  StepModel model;
  Time wakeUp{0}; ///< of an idle worker, from a frame's arrival
  /// Whether to check after each step that rows find their paths in the cache.
  bool checkCache = false;
};

struct StepSize {
  int32_t rows = 0, outputs = 0;
};

/// Counters of a worker.
struct WorkerCounters {
  /// Checkpoints passed, including those without news, which the core did not
  /// see.
  uint64_t checkpoints = 0;
  Time busy{0};
  Time idle{0}; ///< between the first and the last step
  /// The size of each step at its start: its rows, and its outputs.
  std::vector<StepSize> steps;
  /// The times from the head's decision until dead rows were no longer
  /// computed: one for each cancel and step that lost rows by it.
  std::vector<Time> cancelLatencies;
};

/// The common part of stages and the draft. Thread-compatible; must not be
/// moved.
class Worker : public EventTarget {
public:
  virtual ~Worker() = default;
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  /// Takes a frame into the mailbox. Its marks are seen by the next step, or by
  /// a checkpoint that happens for another reason.
  void arrive(StepFrame frame);
  /// Must be called when the rank's board has changed.
  void boardChanged();
  /// Gives the device to this worker.
  void deviceFree();

  void onEvent(uint64_t what) override;

  const WorkerCounters &counters() const { return counted; }
  const Stage &core() const { return *stage; }
  int32_t rankNumber() const { return setup.rank; }

protected:
  Worker(World &world, Rank &rank, WorkerSetup setup);
  /// Must be called before anything else.
  Status open();

  /// Called when a frame is in the mailbox as `number`; its sender counted it
  /// as `step`.
  virtual void queued(uint64_t number, uint64_t step) {}
  /// Called when the step has been computed or was empty: sends its answers and
  /// ends it.
  virtual void finish(const StageTiming &timing) = 0;

  World &world;
  std::optional<Stage> stage;

private:
  /// The kind of an event; an event also has the generation of its step.
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
  bool waking = false;     ///< idle, and about to look into the mailbox
  uint64_t generation = 0; ///< tells events of this step from older ones
  int64_t rowsAtStart = 0;
  int64_t stretches = 1; ///< of this step
  int64_t stretchesToGo = 0;
  double factor = 1;  ///< of this step's time
  Time began{0};      ///< when the step began
  Time sliceBegan{0}; ///< since when the step has had its present rows
  Time stretch{0};
  Time idleSince{0};
  Time idle{0}; ///< idle time before this step
  bool checkpointPending = false;
};

} // namespace sluice::sim

#endif // SLUICE_RUNTIME_SIM_WORKER_H
