//===- CudaExecutorState.h - the state of an executor on a GPU ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CudaExecutorLoad.cpp fills the state; CudaExecutor.cpp and
// CudaExecutorOutputs.cpp use it.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTORSTATE_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTORSTATE_H

#include "runtime/device/cuda/Arena.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/StepGraph.h"
#include "runtime/device/cuda/StepTables.h"

#include <vector>

namespace sluice::cuda {

class WeightMaker;
class WeightUpload;

struct CudaExecutor::State {
  State(std::shared_ptr<Device> given, CudaProgram program)
      : device(std::move(given)), program(std::move(program)) {}
  ~State();

  std::shared_ptr<Device> device;
  CudaProgram program;
  GraphContext context;
  Stream stream = nullptr;
  Event ended = nullptr;
  Arena arena;
  std::unique_ptr<KernelLibrary> kernels;

  /// The graph for one capacity of rows. `buckets` is in ascending order of
  /// capacity.
  struct Bucket {
    int64_t rows;
    std::unique_ptr<StepGraph> description;
    NodeSequence nodes;
  };
  std::vector<Bucket> buckets;
  NodeSequence copyNodes; ///< copies cache pages

  // Page-locked memory of the host: the tables that are sent before a step, the
  // flags of living rows, incoming rows, and results.
  PinnedMemory tableMemory, aliveMemory, incomingMemory, resultMemory,
      departedMemory, tokenMemory, candidateMemory;
  /// The last checkpoint at which the device has removed rows. It lies in
  /// aliveMemory.
  int32_t *passed = nullptr;
  /// The last exchange of the group that is known to have ended. It lies in
  /// aliveMemory, too.
  int32_t *exchanged = nullptr;
  std::optional<StepTables> tables;

  // The following fields describe the step in progress, or the last one.
  /// [row at the step's start]: 0 if the device has been told that the row is
  /// dead.
  std::vector<uint8_t> alive;
  /// [checkpoint - 1]: when the host noticed that rows had left there.
  std::vector<Time> seenAt;
  int32_t exchangesAwaited = 0; ///< exchanges of the step under way
  int32_t exchangesSeen = 0;    ///< the last that is known to have ended
  Time exchangeSeenAt{0};       ///< when it was seen; at first the step's start
  /// [row of the batch]: its row at the step's start
  std::vector<int32_t> originOf;
  std::vector<uint8_t> stays; ///< [row of the batch]: 0 if it leaves here
  std::vector<int32_t> rowOf; ///< [row of the batch]: its row on the device
  /// [row at the step's start]: output on the device
  std::vector<int32_t> outputOf;
  /// [output of the batch]: output on the device
  std::vector<int32_t> outputSlot;
  std::vector<int32_t> firstOutput; ///< [row at the step's start]: its output
  std::vector<OutputRequest::Kind> kinds; ///< [output of the batch]
  /// [output on the device]: 1 if its logits have been fetched.
  std::vector<uint8_t> fetched;
  DeviceAddress sent = 0; ///< the rows that the last step has kept
  /// The error that has broken the device; ok() if there is none.
  Status broken;
  NodeSequence::Observer observer;  ///< called for each node; may be empty
  NodeSequence *lastStep = nullptr; ///< points into a bucket

  Status plan(const CudaExecutorLimits &limits);
  Status load(const CudaExecutorLimits &limits, const LoadOptions &loading);
  void awaitIdle();
  Status fillTables(const device::StepInput &input);
  Status run(const device::StepInput &input);
  Expected<double> timeLastStep(int32_t runs);
  /// Returns the smallest bucket that has room for `rows`.
  Bucket &bucketFor(int64_t rows);
  device::StepBounds bounds() const;
  /// Returns the candidates of the output that the device numbers `slot` in the
  /// last step.
  std::span<const TokenLogit> candidatesAt(int32_t slot) const;

private:
  // Defined in CudaExecutorLoad.cpp.
  Status loadKernels();
  Status allocate();
  Status upload(const LoadOptions &loading);
  Status loadWeight(size_t number, WeightUpload &upload, WeightMaker &maker);
  Status makeGraphs();
  Status makeCopyGraph();
  Status uploadGraphs();

  // Defined in CudaExecutor.cpp and CudaExecutorOutputs.cpp.
  Status copyPages(std::span<const PageCopy> copies);
  Status sendTables(StepTables::Part part);
  Status sendIncoming(const StepGraph &graph, const device::StepInput &input);
  Status fetchResults(const Bucket &bucket, const device::StepInput &input);
  Status fetchOutputs(const StepGraph &graph, const device::StepInput &input);
  Status fetchLogits(const StepGraph &graph, int64_t first, int64_t count);
  Status fetchMissing(const StepGraph &graph, const device::StepInput &input);
  bool suffices(const OutputRequest &request, int32_t slot) const;
  Status await(device::CheckpointHandler *checkpoints,
               const NodeSequence *running = nullptr, int32_t launches = 1);
  Status checkGroup(Time now);
  void replay(const Bucket &bucket, const device::StepInput &input);
  void lookAtCheckpoints();
  void noteSeen(int32_t checkpoint);
  bool leaveAt(int32_t checkpoint, const device::StepInput &input);
  void dropOrphans(const device::StepInput &input);
  void noteOutputs(const StepBatch &batch);
  Status copyReceived(const StepGraph &graph, const device::StepInput &input);
  Status keepSent(const StepGraph &graph, const device::StepInput &input);
  void writeSent(const device::StepInput &input) const;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTORSTATE_H
