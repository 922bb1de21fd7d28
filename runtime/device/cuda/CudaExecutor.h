//===- CudaExecutor.h - runs the steps of a compiled program on a GPU -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Expected<std::unique_ptr<CudaExecutor>> executor =
//       CudaExecutor::create(device, program, limits, loading);
//   ... the batch's rows are placed: pages->grow(sequence, position + 1) ...
//   if (Status s = (*executor)->execute({&batch, &pages}); !s.ok()) return s;
//   std::span<const float> logits = (*executor)->logits(0);
//
// It is the GPU's counterpart of cpu/CpuExecutor.h. In a step, the host sends
// the tables of its rows to the device and launches a graph there. Until the
// graph has ended, the host polls it and marks the rows that have died.
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
  int64_t threads = 1; ///< threads that lay the weights out
  /// Called with the number of bytes of the weights that have been laid out, or
  /// made on the device, and with their total. An error that it returns ends
  /// the loading. May be empty.
  std::function<Status(uint64_t done, uint64_t total)> progress;
  /// The group that computes the program; null if this device computes it
  /// alone. It outlives the executor, whose graphs contain its exchanges.
  DeviceGroup *group = nullptr;
};

/// Owns the device memory, graphs and stream of one program. Thread-compatible:
/// one call at a time. If a step does not end, the executor gives the device
/// up. The device and these objects are then kept until the process ends, since
/// the device still writes to them.
class CudaExecutor final : public device::StepExecutor {
public:
  /// Returns how much device memory create() would take. Takes no memory and
  /// reads no weight. Errors: a program or limits that do not fit together.
  static Expected<MemoryNeed> memoryNeed(std::shared_ptr<Device> device,
                                         CudaProgram program,
                                         const CudaExecutorOptions &limits);

  /// Plans and takes the memory, loads the weights and makes the graphs. After
  /// that the host's copy of the weights is not needed any more. Errors: a
  /// program or limits that do not fit together, too little memory (before
  /// anything is loaded), weights that are not finite, errors of the device.
  static Expected<std::unique_ptr<CudaExecutor>>
  create(std::shared_ptr<Device> device, CudaProgram program,
         const CudaExecutorOptions &limits, const LoadOptions &loading);
  ~CudaExecutor() override;

  /// Returns the limits in force, in which zeros are replaced by their
  /// defaults.
  const CudaExecutorOptions &limits() const;
  int64_t vocabSize() const override;
  int64_t hiddenSize() const override;
  bool hasEmbedding() const override;
  bool hasOutput() const override;
  int64_t outputLimit() const override { return limits().outputs; }
  /// Returns the size of the device memory, in bytes.
  uint64_t arenaBytes() const;

  /// Measures the graph of the last step: runs it `runs` times in a row, with
  /// the same computation each time and no work of the host in between. Returns
  /// seconds per run. Errors: there was no step; errors of the device.
  Expected<double> timeLastStep(int32_t runs);

  /// The executor's internals, for tools that look for a fault. `nodes` are
  /// those of the graph for `rows` rows; they are kept only with
  /// DeviceOptions::oneNode or marks, and are empty otherwise. Valid as long as
  /// the executor.
  struct Inside {
    const MemoryPlan &plan;
    DeviceAddress arena;
    Stream stream;
    const CudaProgram &program;
    KernelLibrary &kernels;
    std::span<const GraphNode> nodes;
  };
  Inside inside(int64_t rows) const;
  /// Sets the observer for the nodes of later steps, which is called as
  /// NodeSequence says.
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
