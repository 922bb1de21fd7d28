//===- CpuExecutor.h - runs the steps of a compiled program ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::unique_ptr<Executor>> executor = Executor::create(program,
//                                                                   limits);
//   ... the batch's rows are placed: pages->grow(sequence, position + 1) ...
//   if (Status s = (*executor)->execute({&batch, &pages}); !s.ok()) return s;
//   std::span<const float> logits = (*executor)->logits(0);
//
// Several executors, one for each stage of a model, may work with one table of
// pages, as long as they execute the same steps: each keeps the keys and values
// of its own layers.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_CPUEXECUTOR_H
#define SLUICE_RUNTIME_DEVICE_CPU_CPUEXECUTOR_H

#include "runtime/base/Status.h"
#include "runtime/comm/Collectives.h"
#include "runtime/device/ProgramShape.h"
#include "runtime/device/StepExecutor.h"
#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/CpuProgramABI.h"
#include "runtime/device/cpu/KvCache.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/Weights.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice::cpu {

/// A compiled program and its weights.
struct CpuProgram : device::ProgramShape {
  std::vector<SluiceRowKernel> kernels; ///< in the order of step.kernels
  Isa isa = Isa::Avx2;
  /// Weights in the descriptor's order. What they refer to (packed weights,
  /// mapped files) must outlive the Executor.
  std::vector<CpuWeight> weights;
};

/// Bounds of an Executor; all memory for them is reserved at the start, and
/// becomes resident as it is used, or then.
struct CpuExecutorLimits {
  int64_t rows = 512;        ///< rows of a step
  int64_t outputs = 1;       ///< rows of a step that ask for logits
  int64_t pages = 0;         ///< of the cache, as CachePages has
  int64_t contextLength = 0; ///< of one sequence; 0: the program's
  int64_t threads = 0;       ///< 0: defaultThreadCount()
  CacheFormat cacheFormat = CacheFormat::F32;
  /// Steps cannot run out of memory: all of it is given out at the start.
  bool resident = false;
};

/// Owns the arena and the caches of one program, and the thread pool unless it
/// is given one. Memory is reserved from the kernel and only takes room once it
/// is used. Thread-compatible: one call at a time.
class CpuExecutor final : public device::StepExecutor {
public:
  /// With a `pool`, which runs one executor's step at a time, limits.threads is
  /// not asked. `group`, for a program of several members, outlives the
  /// executor, which uses it in execute(). Errors: a program that does not fit
  /// together (sizes that overflow, a weight missing its data) or is of another
  /// group, limits below one, or not enough memory.
  static Expected<std::unique_ptr<CpuExecutor>>
  create(CpuProgram program, const CpuExecutorLimits &limits,
         std::shared_ptr<ThreadPool> pool = nullptr,
         comm::Collectives *group = nullptr);
  ~CpuExecutor() override;

  /// The limits in force: zeros replaced by what they stand for.
  const CpuExecutorLimits &limits() const;
  int64_t vocabSize() const override;
  int64_t hiddenSize() const override;
  bool hasEmbedding() const override;
  bool hasOutput() const override;
  int64_t outputLimit() const override { return limits().outputs; }
  int64_t threads() const;
  /// Bytes of address space reserved for the arena and for the caches.
  uint64_t arenaBytes() const;
  uint64_t cacheBytes() const;

  /// Of a member of a group, which executes the same steps as the others, the
  /// errors are also what has broken the group; then nothing is computed any
  /// more.
  Status execute(const device::StepInput &input) override;
  std::span<const float> logits(int64_t output) const override;
  std::optional<device::StepWaits> waits() const override;

private:
  struct State;
  explicit CpuExecutor(std::unique_ptr<State> state);
  device::StepBounds bounds() const;

  std::unique_ptr<State> state;
};

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_CPUEXECUTOR_H
