//===- CpuExecutor.h - the executor of compiled programs on CPUs ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the steps of a program with a pool of threads:
//
//   Expected<std::unique_ptr<CpuExecutor>> executor =
//       CpuExecutor::create(program, limits);
//   ... place the batch's rows: pages->grow(sequence, position + 1) ...
//   if (Status s = (*executor)->execute({&batch, &pages}); !s.ok()) return s;
//   std::span<const float> logits = (*executor)->logits(0);
//
// Several executors, one for each stage of a model, may use one table of pages
// if they execute the same steps. Each stores the keys and values of its own
// layers.
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

/// What a CpuExecutor is created with. It reserves all memory for the limits at
/// creation; unless they say `resident`, memory becomes resident when it is
/// first used. How many sequences are open does not matter to it.
struct CpuExecutorOptions : device::StepLimits {
  CpuExecutorOptions() = default;
  explicit CpuExecutorOptions(const device::StepLimits &limits)
      : StepLimits(limits) {}

  int64_t threads = 0; ///< 0 means defaultThreadCount()
  CacheFormat cacheFormat = CacheFormat::F32;
};

/// Owns the arena and the caches of one program, and the thread pool unless
/// create() receives one. Thread-compatible: one call at a time.
class CpuExecutor final : public device::StepExecutor {
public:
  /// Creates an executor. It uses `pool` if that is given, and limits.threads
  /// has no effect then; a pool runs one executor's step at a time. `group` is
  /// needed for a program of several members; execute() uses it, and it must
  /// outlive the executor. Errors: a program that is inconsistent (sizes that
  /// overflow, a weight without data) or has another number of members than the
  /// group; limits out of range; a CPU without the program's instruction set;
  /// not enough memory.
  static Expected<std::unique_ptr<CpuExecutor>>
  create(CpuProgram program, const CpuExecutorOptions &limits,
         std::shared_ptr<ThreadPool> pool = nullptr,
         comm::Collectives *group = nullptr);
  ~CpuExecutor() override;

  /// Returns the limits in force, with zeros replaced by their defaults.
  const CpuExecutorOptions &limits() const;
  int64_t vocabSize() const override;
  int64_t hiddenSize() const override;
  bool hasEmbedding() const override;
  bool hasOutput() const override;
  int64_t outputLimit() const override { return limits().outputs; }
  int64_t threads() const;
  /// Return the bytes of address space reserved for the arena and the caches.
  uint64_t arenaBytes() const;
  uint64_t cacheBytes() const;

  /// Executes a step; see StepExecutor. All members of a tensor-parallel group
  /// must execute the same steps. A member's execute() also fails once the
  /// group has broken, which is permanent. The results of such a step are
  /// arbitrary, and it ends at its next checkpoint.
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
