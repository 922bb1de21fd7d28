//===- CudaModel.h - a program that is loaded on a GPU --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_CUDAMODEL_H
#define SLUICE_RUNTIME_DEVICE_CUDA_CUDAMODEL_H

#include "runtime/device/cuda/Arena.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/StepGraph.h"
#include "runtime/device/cuda/step/StepTables.h"

#include <vector>

namespace sluice::cuda {

class WeightMaker;
class WeightUpload;

/// A program on a GPU: its memory, weights and graphs, and the stream in which
/// its steps run. It is loaded by begin(), makeGraphs() and upload(), in this
/// order. Thread-compatible.
struct CudaModel {
  CudaModel(std::shared_ptr<Device> given, CudaProgram program)
      : device(std::move(given)), program(std::move(program)) {}
  CudaModel(const CudaModel &) = delete;
  CudaModel &operator=(const CudaModel &) = delete;
  ~CudaModel() { settle(); }

  /// Plans how much memory is needed, without taking any. begin() does this,
  /// too.
  Status plan(const CudaExecutorOptions &limits);

  /// Makes the stream, loads the kernels and takes the memory. Fails if there
  /// is too little, or no code for the device.
  Status begin(const CudaExecutorOptions &limits);
  /// Makes and uploads the graphs, once `context` has all addresses. Otherwise
  /// the first step of each capacity would upload its graph while a request
  /// waits, and might find too little memory.
  Status makeGraphs();
  /// Fills the arena with its initial contents.
  Status upload(const LoadOptions &loading);

  /// Waits for what has begun and drops the graphs and the stream: memory that
  /// the device writes to may be released after that.
  void settle();

  /// The graph for one capacity of rows.
  struct Bucket {
    int64_t rows;
    std::unique_ptr<StepGraph> description;
    NodeSequence nodes;
  };
  /// Returns the smallest bucket that has room for `rows`.
  Bucket &bucketFor(int64_t rows);
  /// Returns the size of a row of activations, in bytes.
  uint64_t rowBytes() const {
    return uint64_t(program.hiddenSize) * sizeof(float);
  }
  const CudaExecutorOptions &limits() const { return context.limits; }

  std::shared_ptr<Device> device;
  CudaProgram program;
  GraphContext context;
  Stream stream = nullptr;
  Event ended = nullptr; ///< recorded at the end of what is waited for
  Arena arena;
  std::unique_ptr<KernelLibrary> kernels;
  std::vector<Bucket> buckets; ///< in ascending order of capacity
  NodeSequence copyNodes;      ///< copies cache pages

private:
  Status makeStream();
  Status loadKernels();
  Status makeCopyGraph();
  Status loadWeight(size_t number, WeightUpload &upload, WeightMaker &maker);
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_CUDAMODEL_H
