//===- Step.h - what a step in progress reaches ---------------------------===//
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

/// The state behind CpuProgramABI.h's opaque pointer. The executor fills it;
/// the pool's threads only read it during a step, but for the tickets, the
/// caches, the scratch memory and the progress of their own, and what thread 0
/// changes at a checkpoint, between two barriers.
struct SluiceStep {
  sluice::cpu::ThreadPool *pool = nullptr;
  /// Of the program of a member of a group; thread 0's.
  sluice::comm::Collectives *group = nullptr;
  /// Why the members have not met. Thread 0 writes it, others read it behind
  /// the next barrier.
  sluice::Status broken;
  const sluice::cpu::LinearKernels *linear = nullptr;
  const sluice::cpu::AttentionKernels *attention = nullptr;

  std::vector<sluice::cpu::LayerCache> caches; ///< one for each layer

  /// The step in progress.
  sluice::device::StepInput input;
  /// Rows that lie side by side in the batch and in their sequence.
  std::vector<sluice::cpu::RowRun> runs;

  /// What the last checkpoint moved, in order. Outputs are sorted by row, so
  /// that they may have to change places; spareSlot is a place beside them.
  std::span<const sluice::RowMove> rowMoves;
  std::vector<sluice::RowMove> outputMoves;
  static constexpr int32_t spareSlot = -1;

  /// Deals out the parallel loops of a step: its products and attentions, in
  /// the order of its tasks.
  sluice::cpu::Tickets tickets;

  /// What a kernel works with beside its operands: scratchFloats floats for
  /// each thread.
  sluice::cpu::ZeroedMemory scratch;
  int64_t scratchFloats = 0;
  float *scratchOf(int64_t thread) const {
    return scratch.floats() + thread * scratchFloats;
  }

  /// What a thread knows of its own way through the step.
  struct alignas(64) Progress {
    /// What it has waited for the others, where the step times it.
    sluice::Time waited{0};
    std::chrono::steady_clock::time_point end; ///< of its share of the step
    int64_t barriers = 0;
  };
  std::vector<Progress> progress; ///< one for each thread

  /// All threads: a barrier.
  void barrier(int64_t thread);
  /// Behind the last call of a thread, where the step times waits.
  void endShare(int64_t thread);
  /// After the step.
  sluice::device::StepWaits sumWaits() const;

  /// Memory for steps of that many rows, so that none is allocated later.
  void reserve(int64_t rows, int64_t threads);

  /// Before the threads start.
  void begin(const sluice::device::StepInput &given);

  /// Thread `thread` of `threads`' share of the pages to copy.
  void copyPages(int64_t thread, int64_t threads);

  /// At a checkpoint, on thread 0 while the others wait: lets the dead leave.
  void passCheckpoint();

private:
  void cutRuns();
  void planOutputMoves();

  /// For planOutputMoves(): outputOf[row before the checkpoint], -1 for none,
  /// and outputFrom[output after it], the same output's number before.
  std::vector<int32_t> outputOf;
  std::vector<int32_t> outputFrom;
};

#endif // SLUICE_RUNTIME_DEVICE_CPU_STEP_H
