//===- WeightLayout.cpp - from stored rows to tiles -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/weights/WeightLayout.h"
#include "runtime/formats/Blocks.h"

#include <algorithm>
#include <cstring>

using namespace sluice;
using namespace sluice::cuda;

namespace {

constexpr int64_t maxFeatures = int64_t{1} << 30;

/// The place of weight (column, feature) of a tile among the factors of
/// products.
struct FragmentPlace {
  int product; ///< one of those of 16 features
  int lane;
  int weight; ///< one of the lane's eight

  FragmentPlace(int column, int feature)
      : product(feature / 16), lane(column % 8 * 4 + feature % 8 / 2),
        weight(2 * (column / 8 + 2 * (feature % 16 / 8)) + feature % 2) {}

  int place16() const { return product * 512 + lane * 16 + weight * 2; }
  int place8() const {
    return product / 2 * 512 + lane * 16 + product % 2 * 8 + weight;
  }
};

/// Writes one tile, a column of stored blocks at a time.
class TileWriter {
public:
  TileWriter(WeightKind kind, uint8_t *tile) : kind(kind), tile(tile) {}

  /// Writes features 0 .. count - 1 of column `column`, which are stored from
  /// `src` on.
  void write(int column, const uint8_t *src, int count) {
    switch (kind) {
    case WeightKind::F32:
      return writeFloats(column, src, count);
    case WeightKind::F16:
    case WeightKind::BF16:
      for (int i = 0; i < count; ++i)
        std::memcpy(tile + FragmentPlace(column, i).place16(), src + 2 * i, 2);
      return;
    case WeightKind::E4M3:
      return writeE4M3(column, src);
    case WeightKind::Q8_0:
      return writeQ80(column, src, count);
    case WeightKind::Q4_0:
      return writeQ40(column, src, count);
    case WeightKind::Q4_K:
    case WeightKind::Q6_K:
      break; // The blocks of these are two tiles long.
    }
  }

  /// Writes half `half` of a block of 256.
  void writeHalf(int column, const BlockQ4K &block, int half) {
    for (int i = 0; i < 128; ++i) {
      int element = 128 * half + i;
      int q =
          block.qs[element / 64 * 32 + element % 32] >> (element / 32 % 2 * 4) &
          15;
      putNibble(column, i, q);
    }
    uint8_t *scales = tile + 1024 + column * 12;
    std::memcpy(scales, &block.d, 2);
    std::memcpy(scales + 2, &block.dmin, 2);
    for (int i = 0; i < 4; ++i) {
      SubScale s = kSubScale(block.scales, 4 * half + i);
      scales[4 + i] = s.scale;
      scales[8 + i] = s.min;
    }
  }

  void writeHalf(int column, const BlockQ6K &block, int half) {
    for (int i = 0; i < 128; ++i) {
      int q = q6KElement(block, 128 * half + i);
      putNibble(column, i, q & 15);
      FragmentPlace at(column, i);
      int bit =
          2 * (at.weight / 2) + 8 * (at.product % 2) + 16 * (at.weight % 2);
      orWord(1024 + at.lane * 16 + at.product / 2 * 4, uint32_t(q >> 4) << bit);
    }
    std::memcpy(tile + 1536 + column * 8, block.scales + 8 * half, 8);
    std::memcpy(tile + 1664 + column * 2, &block.d, 2);
  }

private:
  WeightKind kind;
  uint8_t *tile;

  void writeFloats(int column, const uint8_t *src, int count) {
    for (int i = 0; i < count; ++i) {
      int lane = column + i % 8 / 4 * 16;
      std::memcpy(tile + i / 8 * 512 + lane * 16 + i % 4 * 4, src + 4 * i, 4);
    }
  }

  /// Writes a block, which is as long as a tile.
  void writeE4M3(int column, const uint8_t *src) {
    BlockE4M3 block;
    std::memcpy(&block, src, sizeof(block));
    for (int i = 0; i < 128; ++i)
      tile[FragmentPlace(column, i).place8()] = block.qs[i];
    std::memcpy(tile + 2048 + column * 4, &block.d, 4);
  }

  void writeQ80(int column, const uint8_t *src, int count) {
    for (int b = 0; b < count / 32; ++b) {
      BlockQ80 block;
      std::memcpy(&block, src + b * sizeof(block), sizeof(block));
      for (int i = 0; i < 32; ++i)
        tile[FragmentPlace(column, 32 * b + i).place8()] =
            uint8_t(block.qs[i] + 128);
      std::memcpy(tile + 2048 + column * 8 + b * 2, &block.d, 2);
    }
  }

  void writeQ40(int column, const uint8_t *src, int count) {
    for (int b = 0; b < count / 32; ++b) {
      BlockQ40 block;
      std::memcpy(&block, src + b * sizeof(block), sizeof(block));
      for (int i = 0; i < 32; ++i)
        putNibble(column, 32 * b + i, block.qs[i % 16] >> (i / 16 * 4) & 15);
      std::memcpy(tile + 1024 + column * 8 + b * 2, &block.d, 2);
    }
  }

  void putNibble(int column, int feature, int value) {
    FragmentPlace at(column, feature);
    int bit = 4 * (at.weight / 2) + 16 * (at.weight % 2);
    orWord(at.product / 4 * 512 + at.lane * 16 + at.product % 4 * 4,
           uint32_t(value) << bit);
  }

  void orWord(int place, uint32_t bits) {
    uint32_t word;
    std::memcpy(&word, tile + place, 4);
    word |= bits;
    std::memcpy(tile + place, &word, 4);
  }
};

template <typename Block>
void writeHalfBlock(TileWriter &writer, int column, const uint8_t *row,
                    int64_t unit) {
  Block block;
  std::memcpy(&block, row + size_t(unit / 2) * sizeof(Block), sizeof(Block));
  writer.writeHalf(column, block, int(unit % 2));
}

Format formatOf(WeightKind kind) {
  switch (kind) {
  case WeightKind::F32:
    return Format::F32;
  case WeightKind::F16:
    return Format::F16;
  case WeightKind::Q8_0:
    return Format::Q8_0;
  case WeightKind::Q4_0:
    return Format::Q4_0;
  case WeightKind::Q4_K:
    return Format::Q4_K;
  case WeightKind::Q6_K:
    return Format::Q6_K;
  case WeightKind::E4M3:
    return Format::E4M3;
  case WeightKind::BF16:
    break;
  }
  return Format::BF16;
}

} // namespace

std::optional<WeightKind> cuda::weightKind(Format format) {
  for (int i = 0; i < weightKindCount; ++i)
    if (formatOf(WeightKind(i)) == format)
      return WeightKind(i);
  return std::nullopt;
}

std::optional<uint64_t> cuda::storedRowBytes(const WeightSpec &spec) {
  if (spec.outFeatures <= 0 || spec.inFeatures <= 0 ||
      spec.outFeatures > maxFeatures || spec.inFeatures > maxFeatures)
    return std::nullopt;
  return rowBytes(formatOf(spec.kind), spec.inFeatures);
}

std::optional<uint64_t> cuda::layoutBytes(const WeightSpec &spec) {
  if (!storedRowBytes(spec))
    return std::nullopt;
  auto units = uint64_t(unitsOf(spec.kind, int32_t(spec.inFeatures)));
  uint64_t bytes;
  if (__builtin_mul_overflow(uint64_t(columnTiles(spec)),
                             units * uint64_t(tileBytes(spec.kind)), &bytes))
    return std::nullopt;
  return bytes;
}

void cuda::layoutTiles(const WeightSpec &spec, const void *src,
                       const void *partner, uint8_t *dst, int64_t tileBegin,
                       int64_t tileEnd) {
  const uint64_t stored = storedRowBytes(spec).value_or(0);
  const int64_t units = unitsOf(spec.kind, int32_t(spec.inFeatures));
  const int64_t features = unitFeatures(spec.kind);
  const int64_t bytes = tileBytes(spec.kind);
  const uint64_t unitBytes =
      rowBytes(formatOf(spec.kind), features).value_or(0);
  for (int64_t tile = tileBegin; tile < tileEnd; ++tile) {
    uint8_t *to = dst + tile * units * bytes;
    std::memset(to, 0, size_t(units * bytes));
    for (int column = 0; column < tileColumns; ++column) {
      TileColumn from = tileColumn(spec.gated, tile, column);
      if (from.column >= spec.outFeatures)
        continue;
      const auto *row =
          static_cast<const uint8_t *>(from.fromPartner ? partner : src) +
          uint64_t(from.column) * stored;
      for (int64_t unit = 0; unit < units; ++unit) {
        TileWriter writer(spec.kind, to + unit * bytes);
        if (spec.kind == WeightKind::Q4_K)
          writeHalfBlock<BlockQ4K>(writer, column, row, unit);
        else if (spec.kind == WeightKind::Q6_K)
          writeHalfBlock<BlockQ6K>(writer, column, row, unit);
        else
          writer.write(
              column, row + uint64_t(unit) * unitBytes,
              int(std::min(features, spec.inFeatures - unit * features)));
      }
    }
  }
}
