//===- CudaExecutor.h - runs the steps of a compiled program on a GPU -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::unique_ptr<Executor>> executor =
//       Executor::create(device, program, limits, loading);
//   ... the batch's rows are placed: pages->grow(sequence, position + 1) ...
//   if (Status s = (*executor)->execute({&batch, &pages}); !s.ok()) return s;
//   std::span<const float> logits = (*executor)->logits(0);
//
// As cpu/Executor.h. A step is: what the host says of its rows goes to the
// device, a graph runs there, and the host looks now and then whether it has
// ended, and marks rows that have died meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTOR_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTOR_H

#include "runtime/device/StepExecutor.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/DeviceGroup.h"
#include "runtime/device/cuda/MemoryPlan.h"
#include "runtime/device/cuda/NodeSequence.h"
#include "runtime/device/cuda/driver/Driver.h"

#include <functional>
#include <memory>

namespace sluice::cuda {

struct LoadOptions {
  int64_t threads = 1; ///< that lay weights out
  /// Is called with how many bytes of the weights have been laid out, or made
  /// on the device, of how many; an error ends the loading with it. May be
  /// empty.
  std::function<Status(uint64_t done, uint64_t total)> progress;
  /// Of a program that a group computes; outlives the executor, whose graphs
  /// have its exchanges.
  DeviceGroup *group = nullptr;
};

/// Owns the device memory, graphs and stream of one program. Thread-compatible:
/// one call at a time. A step that does not end gives the device up: then these
/// are kept until the process ends, with the device, since it still writes to
/// them.
class CudaExecutor final : public device::StepExecutor {
public:
  /// What create() would take of the device's memory, of which nothing is taken
  /// and no weight is read. Errors: a program or limits that do not fit
  /// together.
  static Expected<MemoryNeed> memoryNeed(std::shared_ptr<Device> device,
                                         CudaProgram program,
                                         const CudaExecutorLimits &limits);

  /// Plans and takes the memory, loads the weights and makes the graphs. The
  /// weights' memory is not needed any more then. Errors: a program or limits
  /// that do not fit together, too little memory (before anything is loaded),
  /// weights that are not finite, the device's.
  static Expected<std::unique_ptr<CudaExecutor>>
  create(std::shared_ptr<Device> device, CudaProgram program,
         const CudaExecutorLimits &limits, const LoadOptions &loading);
  ~CudaExecutor() override;

  /// The limits in force: zeros replaced by what they stand for.
  const CudaExecutorLimits &limits() const;
  int64_t vocabSize() const override;
  int64_t hiddenSize() const override;
  bool hasEmbedding() const override;
  bool hasOutput() const override;
  int64_t outputLimit() const override { return limits().outputs; }
  /// Bytes of device memory.
  uint64_t arenaBytes() const;

  /// For measuring: seconds that the graph of the last step takes when it runs
  /// `runs` times in a row, computing the same again, and the host does nothing
  /// in between. Errors: there was no step, the device's.
  Expected<double> timeLastStep(int32_t runs);

  /// For those who look for a fault: where everything lies, what runs, and what
  /// a graph for `rows` rows consists of (with DeviceOptions::oneNode or marks;
  /// else nothing is kept of it). Valid as long as the executor.
  struct Inside {
    const MemoryPlan &plan;
    DeviceAddress arena;
    Stream stream;
    const CudaProgram &program;
    KernelLibrary &kernels;
    std::span<const GraphNode> nodes;
  };
  Inside inside(int64_t rows) const;
  /// Called as NodeSequence's; of the nodes of later steps.
  void observe(NodeSequence::Observer observer);

  Status execute(const device::StepInput &input) override;
  std::span<const float> logits(int64_t output) const override;
  device::DeviceRows sentRows() const override;
  std::optional<int32_t> token(int64_t output) const override;
  std::span<const TokenLogit> candidates(int64_t output) const override;

private:
  struct State;
  explicit CudaExecutor(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTOR_H
