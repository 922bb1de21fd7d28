//===- RandomABI.h - kernels that make weights of a seed ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights for speed tests, whose numbers no file has: a weight's tiles are
// written where products read them, with the bytes that weights/WeightLayout.h
// makes of the rows of formats/RandomRow.h. These kernels run when a program is
// loaded, not in a step: there is no count of rows. The other rules of
// KernelABI.h hold.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t randomThreads = 128;

/// Units of a column tile that a block writes: so many that each thread finds
/// the scale of one block of 128 features, where it has to be found.
constexpr int32_t randomTileUnits = randomThreads / tileColumns;

/// The rows of a weight, as RandomRow.h has them.
struct RandomSource {
  uint64_t key; ///< of all rows, RandomRows::key
  float mean;   ///< RandomSpread's
  float unit;   ///< this and the next as RandomUnits has them, of the format
                ///< that the rows are made in
  uint16_t d;
  uint16_t dmin;
  uint32_t unused;
};

/// sluice_random_<kind>, of all kinds, and
/// sluice_random_e4m3_of_<f32|f16|bf16>, which make rows of that format and of
/// these what quantizeRow() does: blocks of randomThreads, grid
/// (randomBlocks()), randomSharedBytes of shared memory. All bytes of all tiles
/// are written, and no memory is read.
struct RandomArguments {
  uint8_t *tiles;      ///< tile 0, unit 0
  RandomSource source; ///< gated: the gate's
  RandomSource partner;
  int32_t outFeatures; ///< gated: of each of the two
  int32_t inFeatures;
  int32_t isGated;
  int32_t unused;
};

/// Blocks of a column tile lie side by side.
constexpr int64_t randomBlocks(WeightKind kind, int64_t tiles,
                               int32_t inFeatures) {
  return tiles * divideUp(unitsOf(kind, inFeatures), randomTileUnits);
}

/// What decides the numbers of a tile's column.
struct RandomColumn {
  uint64_t key; ///< of its row
  float mean;   ///< this and the next three are its source's
  float unit;
  uint16_t d;
  uint16_t dmin;
  uint16_t number;  ///< in its tile
  uint16_t isThere; ///< 0: the weight ends before it
};

/// A tile's columns, then the scales that are found, [unit][column].
constexpr int32_t randomSharedBytes =
    tileColumns * int32_t(sizeof(RandomColumn)) +
    randomTileUnits * tileColumns * int32_t(sizeof(float));

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMABI_H
