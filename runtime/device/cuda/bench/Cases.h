//===- Cases.h - kernels with something to compute ------------------------===//
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

/// Kernels to be launched, and what they must do.
struct KernelCase {
  /// One round. Where it is to be timed it goes through several pieces of
  /// memory of the same kind, more than a cache holds: `pieces` times the work.
  std::vector<GraphNode> nodes;
  int32_t pieces = 1;
  uint64_t bytes = 0; ///< that one piece must move to and from memory
  double flops = 0;   ///< of one piece
};

/// What is not in the chip's caches any more after so many other bytes; 0: one
/// piece will do.
struct Footprint {
  uint64_t bytes = 0;

  int32_t pieces(uint64_t bytesOfOne) const {
    return bytes == 0 ? 1 : static_cast<int32_t>(bytes / bytesOfOne) + 1;
  }
};

struct LinearShape {
  WeightKind kind = WeightKind::BF16;
  int32_t in = 0, out = 0; ///< out: of a gated one, what comes out
  bool gated = false;
  int32_t rows = 1;
  int32_t kernelRows = 8; ///< 8, 16, 32, 64, or linearTileRows
};
std::string_view kindName(WeightKind kind);
/// sluice_linear_*. The operand rows are made here; `nodes` are the product's.
/// The same numbers for the same kind, rows and shape.
KernelCase makeLinear(Lab &lab, const LinearShape &shape, Footprint footprint,
                      int32_t sharedBytes);
/// How many rows the kernel for `rows` rows has.
int32_t linearKernelRows(int32_t rows);

struct AttendShape {
  CacheKind kind = CacheKind::BF16;
  int32_t heads = 32, kvHeads = 8, headDim = 128;
  int32_t rows = 1;      ///< each of a sequence of its own,
  bool isPrompt = false; ///< or all at the end of one
  int32_t context = 0;   ///< of the last row
};
std::string_view kindName(CacheKind kind);
/// sluice_attend_* and sluice_attend_combine, or for prompts
/// sluice_attend_tile_* before them.
KernelCase makeAttend(Lab &lab, const AttendShape &shape, Footprint footprint);

struct CompactShape {
  int32_t rows = 32, dead = 8, features = 4096, values = 1;
};
/// sluice_compact and sluice_move_values, `pieces` times with tables of their
/// own: rows leave once, so the nodes may be run once.
KernelCase makeCompact(Lab &lab, const CompactShape &shape, int32_t pieces);

} // namespace sluice::cuda::bench

#endif // SLUICE_RUNTIME_DEVICE_CUDA_BENCH_CASES_H
