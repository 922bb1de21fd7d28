//===- RandomABI.h - kernels that make weights from a seed ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes weights for speed tests, whose numbers are in no file. The kernels
// write a weight's tiles to where products read them, with the bytes that
// weights/WeightLayout.h makes of the rows of formats/RandomRow.h. They run
// when a program is loaded and not in a step, so there is no count of rows. The
// other rules of KernelABI.h hold.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

constexpr int32_t randomThreads = 128;

/// Units of a column tile that a block writes. There are as many as let each
/// thread compute the scale of one block of 128 features, for kinds whose
/// scales must be computed.
constexpr int32_t randomTileUnits = randomThreads / tileColumns;

/// The parameters of a weight's random rows, as in RandomRow.h.
struct RandomSource {
  uint64_t key; ///< of all rows, as RandomRows::key
  float mean;   ///< as in RandomSpread
  /// This and the next two are as in RandomUnits, for the format in which the
  /// rows are made.
  float unit;
  uint16_t d;
  uint16_t dmin;
  uint32_t unused;
};

/// sluice_random_<kind>, for all kinds, and
/// sluice_random_e4m3_of_<f32|f16|bf16>, which makes rows of that format and
/// quantises them like quantizeRow(): blocks of randomThreads, grid
/// (randomBlocks()), randomSharedBytes of shared memory. The kernels write all
/// bytes of all tiles and read no memory.
struct RandomArguments {
  uint8_t *tiles;      ///< tile 0, unit 0
  RandomSource source; ///< gated: of the gate
  RandomSource partner;
  int32_t outFeatures; ///< gated: of each of the two weights
  int32_t inFeatures;
  int32_t isGated;
  int32_t unused;
};

/// Returns the number of blocks. Those of one column tile are adjacent.
constexpr int64_t randomBlocks(WeightKind kind, int64_t tiles,
                               int32_t inFeatures) {
  return tiles * divideUp(unitsOf(kind, inFeatures), randomTileUnits);
}

/// The parameters of the numbers in one column of a tile.
struct RandomColumn {
  uint64_t key; ///< the key of its row
  /// This and the next three are those of its source.
  float mean;
  float unit;
  uint16_t d;
  uint16_t dmin;
  uint16_t number; ///< the column's number in its tile
  /// 0 if the column is beyond the end of the weight.
  uint16_t isThere;
};

/// Shared memory: the columns of a tile, then the computed scales,
/// [unit][column].
constexpr int32_t randomSharedBytes =
    tileColumns * int32_t(sizeof(RandomColumn)) +
    randomTileUnits * tileColumns * int32_t(sizeof(float));

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMABI_H
