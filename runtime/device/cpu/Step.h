//===- Step.h - what a step in progress reaches ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_STEP_H
#define SLUICE_RUNTIME_DEVICE_CPU_STEP_H

#include "runtime/core/CachePages.h"
#include "runtime/core/StepBatch.h"
#include "runtime/device/cpu/Executor.h"
#include "runtime/device/cpu/KvCache.h"
#include "runtime/device/cpu/ProgramABI.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/attention/Attention.h"
#include "runtime/device/cpu/attention/AttentionUnits.h"
#include "runtime/device/cpu/linear/Linear.h"

#include <atomic>
#include <memory>
#include <vector>

/// The state behind ProgramABI.h's opaque pointer. The Executor fills it; the
/// pool's threads only read it during a step, but for `nextUnit`, the caches
/// and the scratch memory of their own.
struct SluiceStep {
  sluice::cpu::ThreadPool *pool = nullptr;
  const sluice::cpu::LinearKernels *linear = nullptr;
  const sluice::cpu::AttentionKernels *attention = nullptr;

  std::vector<sluice::cpu::Weight> weights;
  std::vector<sluice::cpu::RopeTable> ropeTables;
  std::vector<sluice::cpu::LayerCache> caches; ///< one for each layer
  const sluice::CachePages *pages = nullptr;

  /// The rows of the step in progress, and which of them are one sequence's.
  const sluice::StepBatch *batch = nullptr;
  std::vector<sluice::cpu::RowRun> runs;

  /// The next unit of each layer's attention that no thread has taken yet. A
  /// unit is taken by a relaxed increment, which orders nothing else: barriers
  /// around the attention do.
  struct alignas(64) Counter {
    std::atomic<int64_t> value{0};
  };
  std::unique_ptr<Counter[]> nextUnit;

  /// scratchFloats floats for each thread.
  sluice::cpu::ZeroedMemory scratch;
  int64_t scratchFloats = 0;
};

#endif // SLUICE_RUNTIME_DEVICE_CPU_STEP_H
