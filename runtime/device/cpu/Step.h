//===- Step.h - the state of the step that is executed --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_STEP_H
#define SLUICE_RUNTIME_DEVICE_CPU_STEP_H

#include "runtime/comm/Collectives.h"
#include "runtime/device/StepExecutor.h"
#include "runtime/device/cpu/CpuExecutor.h"
#include "runtime/device/cpu/Tickets.h"
#include "runtime/device/cpu/attention/Attention.h"
#include "runtime/device/cpu/attention/AttentionUnits.h"
#include "runtime/device/cpu/linear/Linear.h"

#include <chrono>
#include <vector>

/// The state behind CpuProgramABI.h's opaque pointer. The executor fills it in.
/// During a step the pool's threads only read it, with two exceptions: each
/// thread uses the tickets, the caches and its own scratch memory and progress;
/// and thread 0 changes the state at a checkpoint, between two barriers.
struct SluiceStep {
  sluice::cpu::ThreadPool *pool = nullptr;
  /// The tensor-parallel group, if the program is computed by several members.
  /// Only thread 0 uses it.
  sluice::comm::Collectives *group = nullptr;
  /// The error of a failed exchange between the members. Thread 0 writes it;
  /// the other threads read it after the next barrier.
  sluice::Status broken;
  const sluice::cpu::LinearKernels *linear = nullptr;
  const sluice::cpu::AttentionKernels *attention = nullptr;

  std::vector<sluice::cpu::LayerCache> caches; ///< one for each layer

  /// The step in progress.
  sluice::device::StepInput input;
  /// Ranges of rows that are consecutive in the batch and in their sequence.
  std::vector<sluice::cpu::RowRun> runs;

  /// The moves of the last checkpoint, in order. Outputs stay sorted by row, so
  /// outputs may have to swap places; spareSlot stands for an additional place.
  std::span<const sluice::RowMove> rowMoves;
  std::vector<sluice::RowMove> outputMoves;
  static constexpr int32_t spareSlot = -1;

  /// Distributes the items of the step's parallel loops: its products and
  /// attentions, in the order of its tasks.
  sluice::cpu::Tickets tickets;

  /// Working memory of the micro-kernels: scratchFloats floats for each thread.
  sluice::cpu::ZeroedMemory scratch;
  int64_t scratchFloats = 0;
  float *scratchOf(int64_t thread) const {
    return scratch.floats() + thread * scratchFloats;
  }

  /// One thread's progress through the step.
  struct alignas(64) Progress {
    /// The time spent in barriers, if the step times it.
    sluice::Time waited{0};
    std::chrono::steady_clock::time_point end; ///< of its share of the step
    int64_t barriers = 0;
  };
  std::vector<Progress> progress; ///< one for each thread

  /// Waits until all threads have come here. Every thread calls it.
  void barrier(int64_t thread);
  /// Notes the end of a thread's share. Called by each thread as its last call,
  /// if the step times waits.
  void endShare(int64_t thread);
  /// Returns the waits of all threads; called after the step.
  sluice::device::StepWaits sumWaits() const;

  /// Allocates memory for steps of up to `rows` rows, so that steps allocate
  /// none.
  void reserve(int64_t rows, int64_t threads);

  /// Prepares a step; called before the threads start.
  void begin(const sluice::device::StepInput &given);

  /// Makes thread `thread`'s share, of `threads`, of the page copies.
  void copyPages(int64_t thread, int64_t threads);

  /// Removes dead rows from the batch at a checkpoint. Called on thread 0 while
  /// the other threads wait.
  void passCheckpoint();

private:
  void cutRuns();
  void planOutputMoves();

  /// For planOutputMoves(). outputOf[row] is the output of a row before the
  /// checkpoint, or -1; outputFrom[output] is the number before the checkpoint
  /// of an output after it.
  std::vector<int32_t> outputOf;
  std::vector<int32_t> outputFrom;
};

#endif // SLUICE_RUNTIME_DEVICE_CPU_STEP_H
