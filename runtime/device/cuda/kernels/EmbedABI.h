//===- EmbedABI.h - kernels that look up rows of a table ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table lies in the tiles of KernelABI.h, as a weight whose output columns
// are the rows of the table. So an output head that is tied to the embedding
// shares its memory. The rules of KernelABI.h hold.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_EMBEDABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_EMBEDABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t embedThreads = 128;

/// Returns how many features of a row a block writes. For an F32 table, a
/// thread writes four features. For the other kinds, four threads share the 64
/// features of half a tile and write 16 each.
constexpr int32_t embedFeatures(WeightKind kind) {
  return embedThreads * (kind == WeightKind::F32 ? 4 : 16);
}

/// sluice_embed_<kind>, for all kinds: blocks of embedThreads, grid
///   (rowCapacity, divideUp(features, embedFeatures(kind))),
/// no shared memory. out[row] = the row index[row] of the table, as float32,
/// with the same bits as runtime/formats dequantises it.
struct EmbedArguments {
  const uint8_t *table; ///< tile 0, unit 0
  const int32_t *index; ///< [row]: a row of the table
  float *out;           ///< [row][features]
  const int32_t *rowCount;
  int64_t features;
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_EMBEDABI_H
