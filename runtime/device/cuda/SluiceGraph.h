//===- SluiceGraph.h - a program's step as a list of kernels --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What CudaProgramABI.h's functions append to, for one capacity of rows.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_SLUICEGRAPH_H
#define SLUICE_RUNTIME_DEVICE_CUDA_SLUICEGRAPH_H

#include "runtime/device/cuda/DeviceGroup.h"
#include "runtime/device/cuda/KernelLibrary.h"
#include "runtime/device/cuda/MemoryPlan.h"
#include "runtime/device/cuda/weights/WeightLayout.h"

#include <optional>
#include <vector>

namespace sluice::cuda {

/// What all graphs of a program refer to; outlives them.
struct GraphContext {
  const CudaProgram *program = nullptr;
  CudaExecutorLimits limits;
  MemoryPlan plan;
  DeviceAddress arena = 0;
  /// Who lives: a byte for each row of the step, of the host's memory.
  DeviceAddress alive = 0;
  /// The last checkpoint at which rows have left: an int32 there, too.
  DeviceAddress passed = 0;
  /// The last exchange of the group that the step is known to have behind it:
  /// an int32 there, too.
  DeviceAddress exchanged = 0;
  /// That computes the program; null: this device alone.
  DeviceGroup *group = nullptr;
  /// Null: nothing is to be launched; only what the program needs is counted.
  KernelLibrary *kernels = nullptr;
  /// Null, or where graphs put the name of each node that they get, in order,
  /// also where nothing is to be launched: a kernel's, or one of those below.
  /// `arena` is not 0 then, and of a program for several members `group` is
  /// there.
  std::vector<std::string> *nodeNames = nullptr;
  int32_t multiprocessors = 1;
  int32_t sharedBytes = 0; ///< that a block can have
  /// Of all graphs: equal ones are kept once. They lie at plan.slopes.
  std::vector<float> slopes;
};

} // namespace sluice::cuda

/// The state behind CudaProgramABI.h's opaque pointer.
struct SluiceGraph {
  /// `rows`: one of bucketsOf(limits.rows).
  SluiceGraph(sluice::cuda::GraphContext &context, int64_t rows);

  /// Calls the program's function, and finish(). Errors: what it asks for that
  /// is not there.
  sluice::Status build();
  /// Behind the program's work, whoever has appended that: appends what the
  /// runtime adds to it. Errors: as build().
  sluice::Status finish();

  // What came out of build().
  std::vector<sluice::cuda::GraphNode> nodes;
  /// Where rows that have come in are put before the graph runs,
  /// [row][hiddenSize]; 0: nowhere.
  sluice::cuda::DeviceAddress received = 0;
  /// Rows to be sent on, [row][hiddenSize], when the graph has run.
  sluice::cuda::DeviceAddress sent = 0;
  int32_t checkpoints = 0;
  /// Checkpoints before the outputs got their numbers.
  int32_t checkpointsBeforeOutputs = 0;
  bool givesGreedyTokens = false;
  /// The most floats of a row's partial results in one span of attention.
  int64_t spanFloats = 0;
  /// Of attention in tiles, if all layers compute chunks so: each size once.
  std::vector<int32_t> tileRows;
  bool hasLayersWithoutTiles = false;
  /// Of the group's members.
  int32_t exchanges = 0;
  /// Also where none are launched; of a product, what the library may take for
  /// it: the kernel, one that clears, and one that adds up parts. Of an
  /// exchange: NCCL's kernel, and what it captures around it for a network.
  int64_t kernelCount = 0;
  int64_t lookups = 0; ///< of them, those that look rows of tables up
  static constexpr int64_t kernelsOfProduct = 3;
  static constexpr int64_t kernelsOfExchange = 4;

  // For the functions of CudaProgramABI.h.
  using Address = sluice::cuda::DeviceAddress;

  void fail(const sluice::Status &status);
  template <typename... Parts> void failWith(const Parts &...parts) {
    fail(sluice::failure(parts...));
  }
  bool failed() const { return !error.ok(); }

  /// Appends a kernel whose parameter is the structure `arguments`.
  template <typename Arguments>
  void append(const std::string &kernel, sluice::cuda::Extent grid,
              uint32_t threads, uint32_t sharedBytes,
              const Arguments &arguments) {
    std::vector<uint64_t> words = sluice::cuda::argumentWords(arguments);
    uint32_t size = uint32_t(words.size());
    add(kernel, grid, threads, sharedBytes, std::move(words), size);
  }
  void add(const std::string &kernel, sluice::cuda::Extent grid,
           uint32_t threads, uint32_t sharedBytes, std::vector<uint64_t> words,
           uint32_t parameterWords);

  void addProduct(const sluice::cuda::ProductNode &product);
  /// As DeviceGroup::exchange().
  void addExchange(std::span<const sluice::cuda::DeviceGroup::Piece> out,
                   std::span<const sluice::cuda::DeviceGroup::Piece> in);
  /// Where nothing is launched: so many exchanges, with a kernel.
  void countExchanges(int32_t count) {
    kernelCount += count * kernelsOfExchange + 1;
  }

  template <typename T> T *pointer(Address address) const {
    return reinterpret_cast<T *>(address);
  }
  Address valueAt(int32_t domain, int64_t offset) const;
  Address table(int64_t words) const;
  const int32_t *count(int32_t domain) const;
  /// Rows (outputs) that the graph is made for, and that values have room for.
  int64_t capacity(int32_t domain) const;
  int64_t padded(int32_t domain) const;
  sluice::cuda::RowTable rowTable() const;
  sluice::cuda::StepTables::Attention attention() const;
  const float *slopesOf(const SluiceAttention &params);
  /// Null, and the error is noted, where there is no such weight.
  const sluice::cuda::LinearWeight *linearWeight(int64_t weight);
  /// A layer's attention computes chunks of so many rows in tiles; 0: none.
  void noteTiles(int32_t rowsOfTile);
  /// What outputs want that is not the greatest token; that is known.
  void addSampling();
  void addCheckpoint(std::span<void *const> values,
                     std::span<const int64_t> floats);

  sluice::cuda::GraphContext &context;
  const sluice::cuda::TableLayout layout;
  int64_t rows;
  int64_t outputs;
  bool outputsNumbered = false;

private:
  void noteNode(const std::string &name) {
    if (context.nodeNames)
      context.nodeNames->push_back(name);
  }

  sluice::Status error;
};

#endif // SLUICE_RUNTIME_DEVICE_CUDA_SLUICEGRAPH_H
