//===- DenseABI.h - kernels around products by NVIDIA's library -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt multiplies matrices of 16-bit numbers that lie row by row. These
// kernels unpack some of a weight's columns for it, and make results of its
// sums. The rules of KernelABI.h hold for them, and two do not for the product
// between them: a row's bits depend on what the library chooses for a step's
// capacity, and rows beyond the count, up to the capacity, are read and
// written. That is --fast-math-batch.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSEABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSEABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

/// Kinds whose operand rows have 16 bits a number.
constexpr bool hasDense(WeightKind kind) { return kind != WeightKind::F32; }

constexpr int32_t denseWarps = 4;
constexpr int32_t denseThreads = 32 * denseWarps;

/// sluice_dense_weight_<kind>: blocks of denseThreads, grid
///   (divideUp(unitsOf(kind, inFeatures), denseWarps), tiles),
/// denseSharedBytes of shared memory. A warp unpacks a unit of a tile: bf16 of
/// a bf16 weight, f16 of all others, rounded once where a scale is multiplied
/// onto quants.
struct DenseWeightArguments {
  const uint8_t *weight; ///< tile 0, unit 0
  uint16_t *dense; ///< [16 * tiles][operandFeatures(inFeatures)], tiles' order
  const int32_t *rowCount; ///< 0: nothing is done
  int32_t inFeatures;
  int32_t firstTile;
};

/// A column of a unit in shared memory, padded as unitRowBytes is.
constexpr int32_t denseSharedBytes = denseWarps * tileColumns * unitRowBytes;

/// sluice_dense_results_<bf16|f16>, by the operand's kind: blocks of
/// linearThreads, grid
///   (divideUp(tiles, linearWarps), divideUp(rowCapacity, 8)).
/// What a linear kernel does with its sums, for some of linear's tiles. Of
/// `linear` it reads what comes behind the sums.
struct DenseResultArguments {
  LinearArguments linear;
  const float *sums; ///< [row][16 * tiles]
  int32_t firstTile; ///< the weight's, as linear.firstTile is
  int32_t tiles;
};

/// Bytes of an unpacked tile of columns.
constexpr int64_t denseTileBytes(int32_t inFeatures) {
  return int64_t{operandFeatures(inFeatures)} * tileColumns * 2;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSEABI_H
