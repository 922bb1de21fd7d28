//===- Attention.h - attention of some rows over a sequence's cache -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The unit of work is a tile of pairs (row, query head): consecutive rows of
// one sequence times query heads that share one kv head, so that every key and
// value that is loaded serves all pairs of the tile.
//
// The order of all arithmetic for a pair is fixed by its row's position alone:
//
//   for each page of 32 tokens that the row sees, ascending:
//     score[t] = sum over d ascending of q[d]*scale * k[t][d], by fma
//     m' = max(m, scores);  p[t] = exp(score[t] - m')
//     sum and acc are multiplied by exp(m - m'), where m' differs from m
//     sum[lane] += p[t] for t = lane, lane + lanes, ... ascending
//     acc[d] = fma(p[t], v[t][d], acc[d]) for the visible t ascending
//   out[d] = acc[d] / (sum over lanes, by halving)
//
// Tokens that the row does not see are masked out of the scores and skipped in
// acc: whatever is stored for them, also NaN, has no influence.
//
// k and v are numbers of the cache. In a cache of 8-bit integers they are the
// product of integer and scale, rounded to a float, also for the row's own
// token. So the result is bit for bit that of a float cache that holds these
// products.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTION_H
#define SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTION_H

#include "runtime/device/cpu/CacheFormat.h"
#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/CpuProgramABI.h"

#include <cstdint>

namespace sluice::cpu {

class LayerCache;

/// The maximum of pairs (row, query head) in a unit.
constexpr int64_t maxUnitPairs = 16;

/// One unit of work. Plain data: kernels are built for their own instruction
/// sets and share no inline function with the rest of the program.
struct AttentionUnit {
  const SluiceAttention *params;
  /// Set by setCache(): the block of the unit's kv head in page 0 of the layer,
  /// the distance to its block in the next page, and the offsets in a block, in
  /// bytes; see KvCache.h.
  CacheFormat format;
  const uint8_t *blocks;
  int64_t pageStride;
  int64_t keyScalesOffset;
  int64_t valuesOffset;
  int64_t valueScalesOffset;
  int64_t paddedDim;
  const int32_t *pages; ///< the pages of the sequence
  /// positions[rows], ascending without a gap.
  const int32_t *positions;
  int64_t rows;
  int64_t headBegin; ///< query heads headBegin .. headBegin+headCount-1
  int64_t headCount;
  const float *q; ///< q[row][heads][headDim], from the unit's first row on
  float *out;     ///< in the layout of q
};

/// Sets the unit's fields for that head of the cache.
void setCache(AttentionUnit &unit, const LayerCache &cache, int64_t kvHead);

/// Kernels of one instruction set.
struct AttentionKernels {
  /// Computes one unit. `scratch` has attentionScratchFloats() floats, aligned
  /// to 64 bytes, for this call alone.
  void (*attend)(const AttentionUnit &unit, float *scratch);
  /// y[i] = exp(x[i]) as the kernel computes it, for the test of its error: at
  /// most 1.5 units in the last place for x in [-87.3, 88]; 0 below -87.34;
  /// NaN stays NaN. `count` is a multiple of 16.
  void (*exp)(const float *x, float *y, int64_t count);
  /// Likewise for tanh, with a relative error of at most 5e-7.
  void (*tanh)(const float *x, float *y, int64_t count);
};

/// Tokens of a page of the cache, and of a group of its keys. KvCache.h has
/// them too, but kernels cannot include it.
constexpr int64_t attentionPageTokens = 32;
constexpr int64_t attentionGroupTokens = 16;
/// Lanes of the widest registers; a pair has a sum for each of these lanes.
constexpr int64_t attentionLanes = 16;

/// Working memory of one unit: for each pair its scaled query, accumulator and
/// one page of probabilities; then, pair by pair, lane sums and the maximum;
/// then a page of keys or values of 8 bits as floats.
constexpr int64_t attentionScratchFloats(int64_t headDim, CacheFormat format) {
  int64_t paddedDim =
      (headDim + attentionLanes - 1) / attentionLanes * attentionLanes;
  int64_t unpacked =
      format == CacheFormat::F32 ? 0 : attentionPageTokens * paddedDim;
  return maxUnitPairs *
             (2 * paddedDim + attentionPageTokens + attentionLanes + 1) +
         unpacked;
}

extern const AttentionKernels attentionAvx2;
extern const AttentionKernels attentionAvx512;

/// Returns the kernels for `isa`.
const AttentionKernels &attentionKernels(Isa isa);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_ATTENTION_H
