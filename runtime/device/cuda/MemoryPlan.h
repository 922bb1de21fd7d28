//===- MemoryPlan.h - where everything lies in device memory --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One arena has all of a program's device memory. It is planned before anything
// is loaded, so that too little memory shows at once.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_MEMORYPLAN_H
#define SLUICE_RUNTIME_DEVICE_CUDA_MEMORYPLAN_H

#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/StepTables.h"
#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/kernels/CompactABI.h"

#include <vector>

namespace sluice::cuda {

/// Graphs are made for these capacities of rows: powers of two up to the limit,
/// and the limit. The least that has room for `rows`.
int64_t bucketOf(int64_t rows, int64_t limit);
/// All of them, ascending.
std::vector<int64_t> bucketsOf(int64_t limit);

/// Rows that values have room for in a graph of the capacity; see
/// CudaProgramABI.h.
constexpr int64_t paddedCapacity(int64_t rows) { return (rows + 63) / 64 * 64; }

/// Rows that a block of the linear kernels takes in such a graph.
constexpr int32_t linearRows(int64_t capacity) {
  return capacity <= 8 ? 8 : capacity <= 16 ? 16 : capacity <= 32 ? 32 : 64;
}

/// What products by the library need (DenseLinear.h), one at a time.
struct DenseRoom {
  uint64_t weightBytes = 0; ///< unpacked columns
  uint64_t sumBytes = 0;
  uint64_t workspaceBytes = 0; ///< the library's own
};

/// How much device memory a program wants, and what for.
struct MemoryNeed {
  uint64_t weightBytes = 0, cacheBytes = 0, stepBytes = 0;
  uint64_t bytes = 0; ///< all of these
  /// Beside the arena: what the driver takes for graphs.
  uint64_t graphBytes = 0;
  /// And what it takes for code: of the kernels, and cuBLASLt's with its handle
  /// where that multiplies.
  uint64_t codeBytes = 0;

  MemoryNeed &operator+=(const MemoryNeed &other);
  MemoryNeed &operator-=(const MemoryNeed &other);
};

/// Offsets from the arena's beginning, aligned to 256 bytes.
struct MemoryPlan : MemoryNeed {
  /// `spanFloats`: of a row's partial results of attention in one span, in any
  /// layer (StepGraph::spanFloats). `findsTokens`: whether the program's graphs
  /// give greedy tokens (givesGreedyTokens); else nothing but logits is made of
  /// outputs, and there is no room for more. Errors: sizes that overflow, as
  /// resolveLimits() has checked the rest.
  static Expected<MemoryPlan> make(const CudaProgram &program,
                                   const CudaExecutorLimits &limits,
                                   int64_t spanFloats, bool findsTokens = true);

  std::vector<uint64_t> weights; ///< of each; tied ones have the same
  std::vector<uint64_t> ropes;   ///< [contextLength][rotary] floats each
  std::vector<uint64_t> caches;  ///< of layers
  uint64_t layerPages = 0;       ///< LayerPages for each layer
  uint64_t values = 0;           ///< of a step
  uint64_t partials = 0;         ///< linear kernels'
  uint64_t tickets = 0;
  uint64_t dense = 0, sums = 0, workspace = 0; ///< denseRoom
  uint64_t spans = 0;                          ///< partial results of attention
  uint64_t slopes = 0;
  uint64_t tables = 0;                        ///< TableLayout
  uint64_t moves = 0, rowNow = 0, greedy = 0; ///< int32 each
  uint64_t candidates = 0, found = 0;         ///< of outputs; SampleArguments
  uint64_t decided = 0;                       ///< of a group: a byte each

  DenseRoom denseRoom;
  uint64_t ticketBytes = 0;
  uint64_t slopeFloats = 0; ///< room
  int32_t spansPerRow = 0;
  int64_t tokenOutputs = 0; ///< of which tokens are found: all, or none
  int32_t spanPlaces = 0;   ///< for spans of rows, as CacheABI.h counts them
};

/// What is kept free for the driver's graphs, which have so many kernels in
/// all. A reserve: drivers do not say what they take, a node's arguments alone
/// may be 4 KiB.
uint64_t graphReserve(int64_t kernels);

/// What is kept free for code, which is loaded when graphs are made. It may be
/// more than is taken: not all kernels of an image are used, and of cuBLASLt's
/// code nobody says how much that is.
uint64_t codeReserve(const CudaProgram &program, const DeviceProperties &device,
                     const DenseRoom &dense);

/// Bytes of a page of a layer, all kv heads.
int64_t layerPageBytes(const device::CacheShape &shape, CacheKind kind);

/// An error, which says what is needed and what is missing, where `state` has
/// no room for it. `name`: the device's.
Status checkRoom(const MemoryNeed &need, const MemoryState &state,
                 const std::string &name);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_MEMORYPLAN_H
