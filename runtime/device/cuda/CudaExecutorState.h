//===- CudaExecutorState.h - what an executor on a GPU keeps --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loaded by ExecutorLoad.cpp, used by Executor.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTORSTATE_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTORSTATE_H

#include "runtime/device/cuda/Arena.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/SluiceGraph.h"
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

  /// One for each capacity, ascending.
  struct Bucket {
    int64_t rows;
    std::unique_ptr<SluiceGraph> description;
    NodeSequence nodes;
  };
  std::vector<Bucket> buckets;
  NodeSequence copyNodes; ///< copy pages

  // Of the host, page-locked: what is sent before a step, who lives, and what
  // comes back.
  PinnedMemory tableMemory, aliveMemory, incomingMemory, resultMemory,
      departedMemory, tokenMemory, candidateMemory;
  /// In aliveMemory: the last checkpoint at which the device has let rows go.
  int32_t *passed = nullptr;
  /// There, too: the last exchange of the group that is known to have ended.
  int32_t *exchanged = nullptr;
  std::optional<StepTables> tables;

  // The step in progress, or the last one.
  std::vector<uint8_t> alive;      ///< [row at the step's begin], as told
  std::vector<Time> seenAt;        ///< [checkpoint - 1]: that rows had left
  int32_t exchangesAwaited = 0;    ///< of a step under way: all that it has
  int32_t exchangesSeen = 0;       ///< the last that is known to have ended
  Time exchangeSeenAt{0};          ///< or the step's begin
  std::vector<int32_t> originOf;   ///< [row of the batch]: at the step's begin
  std::vector<uint8_t> stays;      ///< [row of the batch], at a checkpoint
  std::vector<int32_t> rowOf;      ///< [row of the batch]: on the device
  std::vector<int32_t> outputOf;   ///< [row at the step's begin]: on the device
  std::vector<int32_t> outputSlot; ///< [output of the batch]: on the device
  std::vector<int32_t> firstOutput; ///< [row at the step's begin]: its output
  std::vector<OutputRequest::Kind> kinds; ///< [output of the batch]
  std::vector<uint8_t> fetched; ///< [output on the device]: its logits
  DeviceAddress sent = 0;       ///< rows that the last step has kept
  /// What the device is broken by.
  Status broken;
  NodeSequence::Observer observer;  ///< of the nodes of steps; may be empty
  NodeSequence *lastStep = nullptr; ///< of a bucket

  Status plan(const CudaExecutorLimits &limits);
  Status load(const CudaExecutorLimits &limits, const LoadOptions &loading);
  void awaitIdle();
  Status fillTables(const device::StepInput &input);
  Status run(const device::StepInput &input);
  Expected<double> timeLastStep(int32_t runs);
  /// The least that has room for `rows`.
  Bucket &bucketFor(int64_t rows);
  device::StepBounds bounds() const;
  /// What the last step has found of an output, as the device numbers it.
  std::span<const TokenLogit> candidatesAt(int32_t slot) const;

private:
  // ExecutorLoad.cpp
  Status loadKernels();
  Status allocate();
  Status upload(const LoadOptions &loading);
  Status loadWeight(size_t number, WeightUpload &upload, WeightMaker &maker);
  Status makeGraphs();
  Status makeCopyGraph();
  Status uploadGraphs();

  // Executor.cpp
  Status copyPages(std::span<const PageCopy> copies);
  Status sendTables(StepTables::Part part);
  Status sendIncoming(const SluiceGraph &graph, const device::StepInput &input);
  Status fetchResults(const Bucket &bucket, const device::StepInput &input);
  Status fetchOutputs(const SluiceGraph &graph, const device::StepInput &input);
  Status fetchLogits(const SluiceGraph &graph, int64_t first, int64_t count);
  Status fetchMissing(const SluiceGraph &graph, const device::StepInput &input);
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
  Status copyReceived(const SluiceGraph &graph, const device::StepInput &input);
  Status keepSent(const SluiceGraph &graph, const device::StepInput &input);
  void writeSent(const device::StepInput &input) const;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAEXECUTORSTATE_H
