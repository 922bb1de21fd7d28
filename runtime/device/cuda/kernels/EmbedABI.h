//===- EmbedABI.h - kernels that look rows of a table up ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table lies in the tiles of KernelABI.h, as a weight whose output columns
// are the table's rows: an output head that is tied to the embedding is the
// same bytes. The rules of KernelABI.h hold.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_EMBEDABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_EMBEDABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t embedThreads = 128;

/// Features of a row that a block writes. A thread has four of F32, else 16 of
/// the 64 that four threads have of half a tile.
constexpr int32_t embedFeatures(WeightKind kind) {
  return embedThreads * (kind == WeightKind::F32 ? 4 : 16);
}

/// sluice_embed_<kind>, of all kinds: blocks of embedThreads, grid
///   (rowCapacity, divideUp(features, embedFeatures(kind))),
/// no shared memory. out[row] = the row index[row] of the table, as float32:
/// the numbers that runtime/formats dequantises, bit for bit.
struct EmbedArguments {
  const uint8_t *table; ///< tile 0, unit 0
  const int32_t *index; ///< [row]: a row of the table
  float *out;           ///< [row][features]
  const int32_t *rowCount;
  int64_t features;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_EMBEDABI_H
