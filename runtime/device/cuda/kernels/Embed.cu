//===- Embed.cu - looks up rows of a table --------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/WeightTile.cuh"

using namespace sluice::cuda;

namespace {

/// A block's part of a row.
template <WeightKind kind> class EmbedRow {
public:
  SLUICE_MEMBER explicit EmbedRow(const EmbedArguments &arguments)
      : arg(arguments), row(int32_t(blockX())),
        first(int32_t(blockY()) * embedFeatures(kind)) {}

  SLUICE_MEMBER void write() const {
    launchDependents();
    waitForPrior();
    if (row >= *arg.rowCount)
      return;
    const int32_t entry = arg.index[row];
    const int32_t units = unitsOf(kind, int32_t(arg.features));
    const int32_t column = entry % tileColumns;
    const uint8_t *tiles =
        arg.table + int64_t(entry / tileColumns) * units * tileBytes(kind);
    if constexpr (kind == WeightKind::F32)
      writeFloats(tiles, column);
    else
      writeHalfTile(tiles, column);
  }

private:
  const EmbedArguments &arg;
  int32_t row;
  int32_t first; ///< first feature of the block

  SLUICE_MEMBER void writeFloats(const uint8_t *tiles, int32_t column) const {
    const int32_t feature = first + int32_t(threadIndex()) * 4;
    if (feature >= arg.features)
      return;
    const int32_t place = feature % unitFeatures(kind);
    const int32_t lane = column + place % 8 / 4 * 16;
    const Vector4 values =
        load16(tiles + feature / unitFeatures(kind) * tileBytes(kind) +
               place / 8 * 512 + lane * 16);
#pragma unroll
    for (int i = 0; i < 4; i += 2)
      writePair(feature + i, floatOfBits(values.word[i]),
                floatOfBits(values.word[i + 1]));
  }

  /// Writes what the lane would hold of these features and this column as a
  /// factor of a product.
  SLUICE_MEMBER void writeHalfTile(const uint8_t *tiles, int32_t column) const {
    const int32_t halves = first / 64 + int32_t(threadIndex()) / 4;
    if (halves * 64 >= arg.features)
      return;
    const uint32_t lane = uint32_t(column % 8) * 4 + threadIndex() % 4;
    const uint8_t *tile = tiles + halves / 2 * tileBytes(kind);
    const int half = halves % 2;
    const HalfTile<kind> weights = HalfTile<kind>::load(tile, half, lane);
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      uint32_t a[4];
      HalfTile<kind>::factor(weights, p, a);
      const BlockScales scales = blockScales<kind>(
          tile, kind == WeightKind::Q6_K ? 4 * half + p : 2 * half + p / 2,
          lane);
      const int32_t feature =
          halves * 64 + 16 * p + int32_t(threadIndex() % 4) * 2;
      const bool isUpper = column >= 8;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        // Registers cannot be indexed by a number that is known only at run
        // time.
        const uint32_t pair = isUpper ? a[2 * i + 1] : a[2 * i];
        const float scale = isUpper ? scales.scale[1] : scales.scale[0];
        const float minimum = isUpper ? scales.minimum[1] : scales.minimum[0];
        writePair(feature + 8 * i,
                  weightOf<kind>(pair & 0xffffu, scale, minimum),
                  weightOf<kind>(pair >> 16, scale, minimum));
      }
    }
  }

  /// Writes the feature `feature`, which is even, and the next one.
  SLUICE_MEMBER void writePair(int32_t feature, float x, float y) const {
    struct alignas(8) Pair {
      float x, y;
    };
    float *to = arg.out + row * arg.features + feature;
    if (arg.features % 2 == 0) {
      if (feature < arg.features)
        *reinterpret_cast<Pair *>(to) = {x, y};
      return;
    }
    if (feature < arg.features)
      to[0] = x;
    if (feature + 1 < arg.features)
      to[1] = y;
  }
};

} // namespace

#define SLUICE_EMBED(kind, name)                                               \
  extern "C" SLUICE_KERNEL(embedThreads)                                       \
      sluice_embed_##name(const EmbedArguments arguments) {                    \
    EmbedRow<WeightKind::kind>(arguments).write();                             \
  }
SLUICE_FOR_EACH_EMBED(SLUICE_EMBED)
