//===- Cases.h - kernels with operands to compute on ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_BENCH_CASES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_BENCH_CASES_H

#include "runtime/device/cuda/bench/Lab.h"
#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/device/cuda/kernels/CompactABI.h"

namespace sluice::cuda::bench {

/// Kernels to launch, with the work that they must do.
struct KernelCase {
  /// The nodes of one round. To be timed, a round goes through several pieces
  /// of memory of the same kind, more than a cache holds: `pieces` times the
  /// work.
  std::vector<GraphNode> nodes;
  int32_t pieces = 1;
  /// Bytes that one piece must move to and from memory.
  uint64_t bytes = 0;
  double flops = 0; ///< for one piece
};

/// Reading this many other bytes evicts data from the chip's caches. If 0, one
/// piece suffices.
struct Footprint {
  uint64_t bytes = 0;

  int32_t pieces(uint64_t bytesOfOne) const {
    return bytes == 0 ? 1 : static_cast<int32_t>(bytes / bytesOfOne) + 1;
  }
};

struct LinearShape {
  WeightKind kind = WeightKind::BF16;
  int32_t in = 0, out = 0; ///< out: if gated, columns of the result
  bool gated = false;
  int32_t rows = 1;
  int32_t kernelRows = 8; ///< 8, 16, 32, 64, or linearTileRows
};
std::string_view kindName(WeightKind kind);
/// Makes a case of sluice_linear_*. Also makes the operand rows; `nodes` are
/// only those of the product. The numbers depend only on kind, rows and shape.
KernelCase makeLinear(Lab &lab, const LinearShape &shape, Footprint footprint,
                      int32_t sharedBytes);
/// Returns how many rows a block of the kernel for `rows` rows takes.
int32_t linearKernelRows(int32_t rows);

struct AttendShape {
  CacheKind kind = CacheKind::BF16;
  int32_t heads = 32, kvHeads = 8, headDim = 128;
  int32_t rows = 1;      ///< each of its own sequence, unless
  bool isPrompt = false; ///< they are the last rows of one sequence
  int32_t context = 0;   ///< that the last row sees
};
std::string_view kindName(CacheKind kind);
/// Makes a case of sluice_attend_*, for prompts with
/// sluice_attend_tile_* before them.
KernelCase makeAttend(Lab &lab, const AttendShape &shape, Footprint footprint);

struct CompactShape {
  int32_t rows = 32, dead = 8, features = 4096, values = 1;
};
/// Makes a case of sluice_compact and sluice_move_values, `pieces` times with
/// separate tables. Rows leave only once, so the nodes can run only once.
KernelCase makeCompact(Lab &lab, const CompactShape &shape, int32_t pieces);

} // namespace sluice::cuda::bench

#endif // SLUICE_RUNTIME_DEVICE_CUDA_BENCH_CASES_H
