//===- DenseABI.h - kernels around products by cuBLASLt -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt multiplies row-major matrices of 16-bit numbers. These kernels
// unpack some of a weight's columns for it, and turn its sums into results.
// They follow the rules of KernelABI.h. The product between them breaks two of
// the rules: a row's bits depend on the algorithm that the library chooses for
// a step's capacity, and rows beyond the count are read and written, up to the
// capacity. Therefore it is used only with --fast-math-batch.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSEABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSEABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

/// Returns whether the operand rows of `kind` have 16-bit numbers.
constexpr bool hasDense(WeightKind kind) { return kind != WeightKind::F32; }

constexpr int32_t denseWarps = 4;
constexpr int32_t denseThreads = 32 * denseWarps;

/// sluice_dense_weight_<kind>: blocks of denseThreads, grid
///   (divideUp(unitsOf(kind, inFeatures), denseWarps), tiles),
/// denseSharedBytes of shared memory. A warp unpacks a unit of a tile: to bf16
/// if the weight is bf16, else to f16. Products of a quant and its scale are
/// rounded once.
struct DenseWeightArguments {
  const uint8_t *weight; ///< tile 0, unit 0
  /// [16 * tiles][operandFeatures(inFeatures)], in the order of the tiles.
  uint16_t *dense;
  const int32_t *rowCount; ///< if it is 0, nothing is done
  int32_t inFeatures;
  int32_t firstTile;
};

/// Shared memory: for each warp the columns of a unit, padded like
/// unitRowBytes.
constexpr int32_t denseSharedBytes = denseWarps * tileColumns * unitRowBytes;

/// sluice_dense_results_<bf16|f16>, named after the operand's kind: blocks of
/// linearThreads, grid
///   (divideUp(tiles, linearWarps), divideUp(rowCapacity, 8)).
/// For some tiles of linear's one weight, does what a linear kernel does with
/// its sums. Of `linear` it reads the fields that are used after the sums.
struct DenseResultArguments {
  LinearArguments linear;
  const float *sums; ///< [row][16 * tiles]
  int32_t firstTile; ///< the first tile, in the weight
  int32_t tiles;
};

/// Returns the bytes of an unpacked tile of columns.
constexpr int64_t denseTileBytes(int32_t inFeatures) {
  return int64_t{operandFeatures(inFeatures)} * tileColumns * 2;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_DENSEABI_H
