//===- MemoryPlan.h - the layout of a program's device memory -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of a program's device memory is one arena. It is planned before anything
// is loaded, so that too little memory is noticed at once.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_MEMORYPLAN_H
#define SLUICE_RUNTIME_DEVICE_CUDA_MEMORYPLAN_H

#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/kernels/CompactABI.h"
#include "runtime/device/cuda/step/StepTables.h"

#include <vector>

namespace sluice::cuda {

/// Graphs are made for these capacities of rows: powers of two below the limit,
/// and the limit. bucketOf() returns the smallest that has room for `rows`.
int64_t bucketOf(int64_t rows, int64_t limit);
/// Returns all capacities, in ascending order.
std::vector<int64_t> bucketsOf(int64_t limit);

/// Returns how many rows the values of a graph of this capacity have room for;
/// see StepGraph.h.
constexpr int64_t paddedCapacity(int64_t rows) { return (rows + 63) / 64 * 64; }

/// Returns how many rows a block of the linear kernels takes in a graph of this
/// capacity.
constexpr int32_t linearRows(int64_t capacity) {
  return capacity <= 8 ? 8 : capacity <= 16 ? 16 : capacity <= 32 ? 32 : 64;
}

/// The memory that cuBLASLt's products need (DenseLinear.h), one product at a
/// time.
struct DenseRoom {
  uint64_t weightBytes = 0; ///< for unpacked columns
  uint64_t sumBytes = 0;
  uint64_t workspaceBytes = 0; ///< for the library
};

/// How much device memory a program needs, and for what.
struct MemoryNeed {
  uint64_t weightBytes = 0, cacheBytes = 0, stepBytes = 0;
  uint64_t bytes = 0; ///< the sum of these, the arena's size
  /// What the driver takes for graphs, beside the arena.
  uint64_t graphBytes = 0;
  /// What the driver takes for code, beside the arena: for the kernels, and if
  /// cuBLASLt is used, for its code and its handle.
  uint64_t codeBytes = 0;

  MemoryNeed &operator+=(const MemoryNeed &other);
  MemoryNeed &operator-=(const MemoryNeed &other);
};

/// Offsets from the start of the arena, aligned to 256 bytes.
struct MemoryPlan : MemoryNeed {
  /// Plans the arena. If the program's tasks find no tokens
  /// (StepPlan::findsTokens()), only logits are made for outputs, and there is
  /// no room for tokens and candidates. Errors: sizes that overflow;
  /// resolveOptions() has checked all else.
  static Expected<MemoryPlan> make(const CudaProgram &program,
                                   const CudaExecutorOptions &limits);

  std::vector<uint64_t> weights; ///< of each weight; tied ones have the same
  std::vector<uint64_t> ropes;   ///< [contextLength][rotary] floats each
  std::vector<uint64_t> caches;  ///< of each layer
  uint64_t layerPages = 0;       ///< a LayerPages for each layer
  uint64_t values = 0;           ///< the values of a step
  uint64_t partials = 0;         ///< partial sums of the linear kernels
  uint64_t tickets = 0;          ///< of the linear kernels, and of attention
  uint64_t tailTicket = 0;       ///< of the launch's tail; see RowTail
  uint64_t dense = 0, sums = 0, workspace = 0; ///< sized by denseRoom
  uint64_t spans = 0;                          ///< partial results of attention
  uint64_t slopes = 0;
  uint64_t tables = 0;                        ///< as TableLayout has them
  uint64_t moves = 0, rowNow = 0, greedy = 0; ///< int32 each
  uint64_t candidates = 0, found = 0; ///< for outputs; see SampleArguments
  /// For a group: a byte for each row that says whether it lives.
  uint64_t decided = 0;

  DenseRoom denseRoom;
  uint64_t ticketBytes = 0;
  uint64_t slopeFloats = 0; ///< how many floats there is room for
  int32_t spansPerRow = 0;
  /// Outputs whose tokens are found on the device: all of them, or none.
  int64_t tokenOutputs = 0;
  /// Places for spans of rows, as CacheABI.h counts them.
  int32_t spanPlaces = 0;
};

/// Returns how much memory is kept free for the driver's graphs, which have
/// `kernels` kernels in all. It is an estimate, since drivers do not say what
/// they take; a node's arguments alone may be 4 KiB.
uint64_t graphReserve(int64_t kernels);

/// Returns how much memory is kept free for code, which the driver loads when
/// graphs are made. It may be more than is taken: not all kernels of an image
/// are used, and the size of cuBLASLt's code is not documented.
uint64_t codeReserve(const CudaProgram &program, const DeviceProperties &device,
                     const DenseRoom &dense);

/// Returns the bytes of one page of a layer, for all kv heads.
int64_t layerPageBytes(const device::CacheShape &shape, CacheKind kind);

/// Returns an error if `state` has too little free memory for `need`. The error
/// says how much is needed and how much is missing. `name` is the name of the
/// device.
Status checkRoom(const MemoryNeed &need, const MemoryState &state,
                 const std::string &name);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_MEMORYPLAN_H
