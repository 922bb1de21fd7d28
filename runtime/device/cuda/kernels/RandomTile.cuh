//===- RandomTile.cuh - tiles of weights that are made from a seed --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each of a row's numbers can be computed by itself, since its words are a
// mixed counter (formats/RandomNumbers.h). So a thread makes 16 bytes of a tile
// from the words that they depend on, and needs nothing from other threads. For
// that, words are drawn more than once: half a word for each weight of 16 or 8
// bits, whose row has a quarter or an eighth of one, and a quarter for a weight
// of four bits.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMTILE_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMTILE_CUH

#include "runtime/device/cuda/kernels/RandomQuants.cuh"
#include "runtime/device/cuda/kernels/WeightTile.cuh"

namespace sluice::cuda {

/// A block's units of a column tile. `Quants` is one of the structures of
/// RandomQuants.cuh.
template <typename Quants> class RandomTile {
public:
  SLUICE_MEMBER explicit RandomTile(const RandomArguments &arguments)
      : arg(arguments), units(unitsOf(kind, arguments.inFeatures)),
        groups(divideUp(units, randomTileUnits)),
        tile(int32_t(blockX()) / groups),
        firstUnit(int32_t(blockX()) % groups * randomTileUnits),
        columns(reinterpret_cast<RandomColumn *>(sharedMemory())),
        quants{{reinterpret_cast<float *>(columns + tileColumns), firstUnit}} {}

  SLUICE_MEMBER void make() const {
    launchDependents();
    if (threadIndex() < uint32_t(tileColumns))
      columns[threadIndex()] = columnAt(int32_t(threadIndex()));
    syncThreads();
    const int32_t rest = units - firstUnit;
    const int32_t count = rest < randomTileUnits ? rest : randomTileUnits;
    if constexpr (Quants::findsScales) {
      quants.findScales(columns, count);
      syncThreads();
    }
    waitForPrior();
    uint8_t *to =
        arg.tiles + (int64_t(tile) * units + firstUnit) * tileBytes(kind);
    for (int32_t i = int32_t(threadIndex()); i < count * pieces;
         i += randomThreads)
      storeGlobal16(to + i * 16, piece(firstUnit + i / pieces, i % pieces));
  }

private:
  static constexpr WeightKind kind = Quants::kind;
  /// Pieces of 16 bytes: those of a tile, and those of its planes of quants
  /// (for Q6_K without their high bits).
  static constexpr int32_t pieces = tileBytes(kind) / 16;
  static constexpr int32_t planePieces =
      kind == WeightKind::F32 ? pieces : 2 * 32 * laneBytes(kind) / 16;

  const RandomArguments &arg;
  int32_t units;  ///< units of the weight
  int32_t groups; ///< blocks of a column tile
  int32_t tile, firstUnit;
  RandomColumn *columns; ///< the tile's columns, in shared memory
  Quants quants;

  SLUICE_MEMBER RandomColumn columnAt(int32_t number) const {
    const TileColumn from = tileColumn(arg.isGated != 0, tile, number);
    RandomColumn column = {};
    column.number = uint16_t(number);
    column.isThere = from.column < arg.outFeatures;
    const bool isPartner = from.fromPartner;
    column.key = randomKey(isPartner ? arg.partner.key : arg.source.key,
                           uint64_t(from.column));
    column.mean = isPartner ? arg.partner.mean : arg.source.mean;
    column.unit = isPartner ? arg.partner.unit : arg.source.unit;
    column.d = isPartner ? arg.partner.d : arg.source.d;
    column.dmin = isPartner ? arg.partner.dmin : arg.source.dmin;
    return column;
  }

  SLUICE_MEMBER Vector4 piece(int32_t unit, int32_t number) const {
    // Each 512 bytes of a plane have 16 bytes for each lane.
    const int32_t group = number / 32, lane = number % 32;
    Vector4 made;
    if (number < planePieces) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        made.word[j] = planeWord(unit, group, lane, j);
      return made;
    }
    int32_t first = 4 * (number - planePieces);
    if constexpr (kind == WeightKind::Q6_K) {
      if (first < 128) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          made.word[j] = highWord(unit, lane, j);
        return made;
      }
      first -= 128;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
      made.word[j] = scaleWord(unit, first + j);
    return made;
  }

  /// Returns word `j` of a lane's 16 bytes in one of a plane's groups.
  SLUICE_MEMBER uint32_t planeWord(int32_t unit, int32_t group, int32_t lane,
                                   int j) const {
    if constexpr (kind == WeightKind::F32)
      return floatAt(lane % 16,
                     unit * unitFeatures(kind) + 8 * group + lane / 16 * 4 + j);
    else if constexpr (kind == WeightKind::F16 || kind == WeightKind::BF16)
      return pair(unit, group, lane, j);
    else if constexpr (hasNibbles(kind))
      return pairs(unit, 4 * group + j, lane);
    else
      return bytesOf(pair(unit, 2 * group + j / 2, lane, j % 2 * 2)) |
             bytesOf(pair(unit, 2 * group + j / 2, lane, j % 2 * 2 + 1)) << 16;
  }

  /// Returns pair `i` of a lane's four in product `product` of a unit, in the
  /// order of `a` of Primitives.cuh; zeros if the weight has no such features.
  SLUICE_MEMBER uint32_t pair(int32_t unit, int32_t product, int32_t lane,
                              int i) const {
    const RandomColumn &column = columns[lane / 4 + i % 2 * 8];
    const int32_t feature =
        unit * unitFeatures(kind) + 16 * product + lane % 4 * 2 + i / 2 * 8;
    // There are no branches, so that pairs of the same words can share them.
    const int32_t end = column.isThere ? arg.inFeatures : 0;
    return quants.quants(column, feature) &
           ((feature < end ? 0xffffu : 0) |
            (feature + 1 < end ? 0xffff0000u : 0));
  }

  /// Returns all four pairs, for quants of four bits.
  SLUICE_MEMBER uint32_t pairs(int32_t unit, int32_t product,
                               int32_t lane) const {
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      word |= (pair(unit, product, lane, i) & 0x000f000fu) << 4 * i;
    return word;
  }

  /// For Q6_K: returns the two high bits of the quants of products 2j and 2j +
  /// 1.
  SLUICE_MEMBER uint32_t highWord(int32_t unit, int32_t lane, int j) const {
    uint32_t word = 0;
#pragma unroll
    for (int p = 0; p < 2; ++p)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        word |= (pair(unit, 2 * j + p, lane, i) >> 4 & 0x00030003u)
                << (2 * i + 8 * p);
    return word;
  }

  SLUICE_MEMBER uint32_t floatAt(int32_t column, int32_t feature) const {
    const int32_t end = columns[column].isThere ? arg.inFeatures : 0;
    return bitsOfFloat(quants.number(columns[column], feature)) &
           (feature < end ? ~0u : 0);
  }

  /// Returns the low bytes of a pair.
  SLUICE_MEMBER static uint32_t bytesOf(uint32_t pair) {
    return (pair & 0xffu) | (pair >> 8 & 0xff00u);
  }

  /// Returns word `i` of what follows a tile's planes.
  SLUICE_MEMBER uint32_t scaleWord(int32_t unit, int32_t i) const {
    if constexpr (kind == WeightKind::E4M3) {
      const RandomColumn &column = columns[i];
      return column.isThere ? bitsOfFloat(quants.scale(column, unit)) : 0;
    } else if constexpr (kind == WeightKind::Q4_K) {
      const RandomColumn &column = columns[i / 3];
      if (!column.isThere)
        return 0;
      return i % 3 == 0 ? column.d | uint32_t(column.dmin) << 16
                        : quants.subScales(column, unit);
    } else if constexpr (kind == WeightKind::Q6_K) {
      constexpr int32_t words = 2 * tileColumns; // words of the parts' scales
      if (i >= words)
        return dOf(2 * (i - words)) | dOf(2 * (i - words) + 1) << 16;
      const RandomColumn &column = columns[i / 2];
      return column.isThere ? quants.subScales(column, unit, i % 2) : 0;
    } else if constexpr (hasBlockScales(kind)) {
      const int32_t block = 4 * unit + i % 2 * 2;
      return scaleOfBlock(i / 2, block) | scaleOfBlock(i / 2, block + 1) << 16;
    } else {
      return 0;
    }
  }

  /// For Q6_K: returns d, which all blocks of a column share.
  SLUICE_MEMBER uint32_t dOf(int32_t number) const {
    return columns[number].isThere ? columns[number].d : 0;
  }

  /// For Q8_0 and Q4_0: returns the f16 scale of block `block` of a row.
  SLUICE_MEMBER uint32_t scaleOfBlock(int32_t number, int32_t block) const {
    const RandomColumn &column = columns[number];
    if (!column.isThere || block * 32 >= arg.inFeatures)
      return 0;
    return quants.scale(column, block);
  }
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMTILE_CUH
