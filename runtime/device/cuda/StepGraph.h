//===- StepGraph.h - a program's step as a list of kernels ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A StepGraph is the graph of a step for one capacity of rows: a list of nodes,
// to which GraphTasks.h appends those of each task of the program's plan.
//
// Each node runs after all nodes before it have run. (Dependent launches let
// kernels overlap where that is safe; see kernels/KernelABI.h.) Tasks that
// share a node do not need each other, or run one after the other in it. The
// numbers of rows and outputs lie in device memory; the graph's capacities are
// their bounds. A checkpoint lowers the number of rows. Outputs get their
// numbers before the first task for outputs. After that they keep their places
// until no row lives, and then there are no outputs.
//
// Both capacities are rounded up to multiples of 64 for the places of buffers
// (StepPlan.h), so that all buffers are aligned to 256 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_STEPGRAPH_H
#define SLUICE_RUNTIME_DEVICE_CUDA_STEPGRAPH_H

#include "runtime/device/cuda/DeviceGroup.h"
#include "runtime/device/cuda/KernelLibrary.h"
#include "runtime/device/cuda/MemoryPlan.h"
#include "runtime/device/cuda/weights/WeightLayout.h"

#include <optional>
#include <vector>

namespace sluice::cuda {

/// The data that all graphs of a program share. Outlives the graphs.
struct GraphContext {
  const CudaProgram *program = nullptr;
  CudaExecutorOptions limits;
  MemoryPlan plan;
  DeviceAddress arena = 0;
  /// The flags of living rows: a byte for each row of the step, in host memory.
  DeviceAddress alive = 0;
  /// The last checkpoint at which rows have left, an int32 in host memory.
  DeviceAddress passed = 0;
  /// The last exchange of the group that is known to have ended in the step, an
  /// int32 in host memory.
  DeviceAddress exchanged = 0;
  /// The group that computes the program; null if this device computes it
  /// alone.
  DeviceGroup *group = nullptr;
  /// The kernels that are launched. If null, nothing is launched, and the
  /// graphs only count what the program needs.
  KernelLibrary *kernels = nullptr;
  /// If set, each graph appends here the names of its nodes, in order, also if
  /// nothing is launched. A name is a kernel's, or one of those that stand for
  /// products and exchanges. `arena` must then not be 0, and for a program of
  /// several members `group` must be set.
  std::vector<std::string> *nodeNames = nullptr;
  /// Gives each task launches of its own (DeviceOptions::oneTask).
  bool oneTask = false;
  int32_t multiprocessors = 1;
  int32_t sharedBytes = 0; ///< the most that a block can have
  /// The slopes of all graphs, at plan.slopes. Equal ones are stored once.
  std::vector<float> slopes;
};

/// The nodes of a step, and what the executor needs to know of them.
struct StepGraph {
  /// `rows` is one of bucketsOf(limits.rows).
  StepGraph(GraphContext &context, int64_t rows);

  /// Appends all tasks of the program's plan, and then calls finish(). Errors:
  /// a weight is not of the kind that its task needs, or a GPU has no such
  /// task.
  Status build();
  /// Appends what the runtime adds after the program's tasks, which need not
  /// come from build(). Errors: as build().
  Status finish();

  // The results of build().
  std::vector<GraphNode> nodes;
  /// The address, [row][hiddenSize], to which incoming rows are copied before
  /// the graph runs; 0 if there are none.
  DeviceAddress received = 0;
  /// The rows for the next stage, [row][hiddenSize], once the graph has run.
  DeviceAddress sent = 0;
  int32_t checkpoints = 0;
  /// The checkpoints before the outputs got their final numbers.
  int32_t checkpointsBeforeOutputs = 0;
  /// The tile sizes of attention, each once. They count only if all layers
  /// compute chunks in tiles.
  std::vector<int32_t> tileRows;
  bool hasLayersWithoutTiles = false;
  /// The number of exchanges with the group's other members.
  int32_t exchanges = 0;
  /// The number of kernels, also if none are launched. A product counts as many
  /// as cuBLASLt may take for it: the kernel, one that clears, and one that
  /// adds up parts. An exchange counts NCCL's kernel and the nodes that NCCL
  /// captures around it for a network.
  int64_t kernelCount = 0;
  /// Those of the kernels that look up rows of tables.
  int64_t lookups = 0;
  static constexpr int64_t kernelsOfProduct = 3;
  static constexpr int64_t kernelsOfExchange = 4;

  // The following members serve those who append.
  using Address = DeviceAddress;

  void fail(const Status &status);
  template <typename... Parts> void failWith(const Parts &...parts) {
    fail(failure(parts...));
  }
  bool failed() const { return !error.ok(); }

  /// Appends a kernel whose parameter is the structure `arguments`.
  template <typename Arguments>
  void append(const std::string &kernel, Extent grid, uint32_t threads,
              uint32_t sharedBytes, const Arguments &arguments) {
    std::vector<uint64_t> words = argumentWords(arguments);
    uint32_t size = uint32_t(words.size());
    add(kernel, grid, threads, sharedBytes, std::move(words), size);
  }
  void add(const std::string &kernel, Extent grid, uint32_t threads,
           uint32_t sharedBytes, std::vector<uint64_t> words,
           uint32_t parameterWords);

  void addProduct(const ProductNode &product);
  /// Appends a node that does DeviceGroup::exchange() with these pieces.
  void addExchange(std::span<const DeviceGroup::Piece> out,
                   std::span<const DeviceGroup::Piece> in);
  /// Counts `count` exchanges and one kernel, if nothing is launched.
  void countExchanges(int32_t count) {
    kernelCount += count * kernelsOfExchange + 1;
  }

  template <typename T> T *pointer(Address address) const {
    return reinterpret_cast<T *>(address);
  }
  /// Returns the address of the records at the place `place`, in floats of a
  /// record, among the buffers of a kind.
  Address recordsAt(device::RecordKind kind, int64_t place) const;
  Address table(int64_t words) const;
  /// Returns the address of the number of rows (outputs).
  const int32_t *count(device::RecordKind kind) const;
  /// capacity() returns how many rows (outputs) the graph is made for, padded()
  /// how many its values have room for.
  int64_t capacity(device::RecordKind kind) const;
  int64_t padded(device::RecordKind kind) const;
  RowTable rowTable() const;
  StepTables::Attention attention() const;
  const float *slopesOf(const device::PlannedAttention &attention);
  /// Records that a layer's attention computes chunks in tiles of `rowsOfTile`
  /// rows, or that it has no tiles (0).
  void noteTiles(int32_t rowsOfTile);
  /// Appends the kernels that compute what outputs ask for beyond the greatest
  /// token, which is already known.
  void addSampling();
  /// Appends a checkpoint that moves the records of these buffers of rows.
  void addCheckpoint(std::span<const device::PlannedBuffer> buffers);

  GraphContext &context;
  const TableLayout layout;
  int64_t rows;
  int64_t outputs;
  bool outputsNumbered = false;

private:
  void noteNode(const std::string &name) {
    if (context.nodeNames)
      context.nodeNames->push_back(name);
  }

  Status error;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_STEPGRAPH_H
