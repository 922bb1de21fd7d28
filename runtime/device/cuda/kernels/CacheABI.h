//===- CacheABI.h - the cache in device memory, and attention over it -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As KernelABI.h, whose rules hold. Pages are CachePages': 32 positions of one
// sequence; position p of a sequence lies in slot p % 32 of its page p / 32. A
// layer's cache is page[page][kv head] of pageHeadBytes():
//
//   k[32][dim]        token by token; numbers of the cache's format
//   v[32][dim]        the same
//   kScales[32]       E4M3: f32, of each token's key
//   vScales[32]       E4M3: the same of its value
//
// dim is headDim rounded up to 64, 128 or 256; the rest is zeros. In E4M3 a
// token's key (and its value) of one head has a scale of its own, a power of
// two by which its largest magnitude comes into [128, 256): what is stored
// follows from the token alone, so it is the same in any step and any page.
//
// The memory is zeros before its first use, and values in it are always finite:
// attention multiplies what a row does not see by a probability of zero, and
// must not get a NaN of it. Therefore numbers beyond the format's largest
// become the largest; infinities and NaNs become zeros, and the first number of
// the token's key (in E4M3 the key's scale) a NaN, so that whoever sees the
// token gets NaNs. Forks (branches of guesses) are sequences of their own whose
// pages the host shares or copies; kernels know nothing of them but
// sluice_append's mirrors.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_CACHEABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_CACHEABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

enum class CacheKind : uint8_t { F16, BF16, E4M3 };
constexpr int cacheKindCount = 3;

/// Tokens of a page: CachePages::pageTokens.
constexpr int32_t pageTokens = 32;

/// The dimensions that kernels are made for; 0: none is large enough.
constexpr int32_t cacheDim(int32_t headDim) {
  return headDim <= 64 ? 64 : headDim <= 128 ? 128 : headDim <= 256 ? 256 : 0;
}

constexpr int32_t cacheNumberBytes(CacheKind kind) {
  return kind == CacheKind::E4M3 ? 1 : 2;
}

/// Bytes of keys, and of values, of one kv head in a page.
constexpr int32_t pageHalfBytes(CacheKind kind, int32_t dim) {
  return pageTokens * dim * cacheNumberBytes(kind);
}

constexpr int32_t pageHeadBytes(CacheKind kind, int32_t dim) {
  return 2 * pageHalfBytes(kind, dim) +
         (kind == CacheKind::E4M3 ? 2 * pageTokens * 4 : 0);
}

/// Which rows a step has, and where their sequences lie.
struct RowTable {
  const int32_t *rowCount;
  const int32_t *positions; ///< [row]
  const int32_t *sequences; ///< [row]
  /// Those of a sequence from sequence * pagesPerSequence on; with 1, a
  /// sequence's number is the place of its first page.
  const int32_t *pages;
  int32_t pagesPerSequence;
};

constexpr int32_t appendThreads = 128;

/// sluice_append_cache: grid (divideUp(rowCapacity * kvHeads, 4)), blocks of
/// appendThreads threads, no shared memory: a warp stores the key and the value
/// of one row and head. Mirrors, which store a row in another sequence, at the
/// row's position, as well, are shared out over all warps.
struct AppendArguments {
  const float *k; ///< [row][kvHeads][headDim]
  const float *v; ///< the same
  uint8_t *cache; ///< the layer's
  RowTable rows;
  const int32_t *mirrorCount;     ///< null: none
  const int32_t *mirrorRows;      ///< [mirror]
  const int32_t *mirrorSequences; ///< [mirror]
  int32_t kvHeads;
  int32_t headDim;
  CacheKind kind;
};

constexpr int32_t copyThreads = 256;

/// One layer's cache.
struct LayerPages {
  uint8_t *cache;
  int64_t pageBytes; ///< of all kv heads
};

/// sluice_copy_pages: grid (any x >= 1, layers), blocks of copyThreads, no
/// shared memory. Pages are copied in order, in every layer: later ones may
/// read or overwrite what earlier ones have written.
struct PageCopyArguments {
  const LayerPages *layers;
  const int32_t *copies; ///< [copy][2]: from, to
  const int32_t *copyCount;
};

/// A span of positions whose attention is summed from zero: four pages. Spans
/// begin at multiples of it; a row's sums over spans are added in ascending
/// order.
constexpr int32_t spanTokens = 4 * pageTokens;

/// Pairs of a row and a query head in a warp's products.
constexpr int32_t warpPairs = 16;

/// Warps of a block; larger ones would not fit into every chip's shared memory.
constexpr int32_t attendWarps(int32_t dim) { return dim <= 128 ? 4 : 2; }
constexpr int32_t attendThreads(int32_t dim) { return 32 * attendWarps(dim); }

/// Blocks of sluice_attend_<kind>_<dim> that a multiprocessor with 227 KiB of
/// shared memory has at a time: registers are given out for as many.
constexpr int32_t attendResidentBlocks(int32_t dim) {
  return dim <= 64 ? 4 : 2;
}

/// Bytes of a row of keys, values or queries in shared memory: 16-bit numbers,
/// and 16 bytes so that eight rows lie in different banks.
constexpr int32_t sharedRowBytes(int32_t dim) { return 2 * dim + 16; }

/// Of sluice_attend_<kind>_<dim>: each warp has a page's keys, its values, and
/// queries. More than 48 KiB for a dim above 64: the host allows it for the
/// kernel.
constexpr int32_t attendSharedBytes(int32_t dim) {
  return attendWarps(dim) * (2 * pageTokens + warpPairs) * sharedRowBytes(dim);
}

/// Of sluice_attend_tile_<kind>_<dim>: all warps have one page, each has
/// queries and sums.
constexpr int32_t tileSharedBytes(int32_t dim) {
  return (2 * pageTokens + attendWarps(dim) * warpPairs) * sharedRowBytes(dim) +
         attendWarps(dim) * warpPairs * dim * 4;
}

/// Attention, as CudaProgramABI.h's SluiceAttention. Scores are in f32; queries
/// and probabilities are rounded to f16 (in a BF16 cache to bf16), queries of
/// f16 after scaling by a power of two as operand rows are.
///
/// For each (row, query head), with spans and pages ascending:
///   in a span, from m = -infinity, sum = acc = 0, for each page with a visible
///   token: s[t] = score; m' = max(m, s); f = exp(m - m');
///     p[t] = exp(s[t] - m'), 0 where t is not visible
///     sum = sum * f + p, acc = acc * f + p * v
///   over spans: (M, S, A) = the first span's; then for each
///     M' = max(M, m); S = S * exp(M - M') + sum * exp(m - M'), A likewise
///   out = A / S
///
/// sluice_attend_<kind>_<dim>, kind as f16 bf16 e4m3, does spans in parallel:
/// blocks of attendThreads(dim), grid (x * divideUp(group, 16), y, kvHeads)
/// with any x, y >= 1, attendSharedBytes(dim): block i * divideUp(group, 16) +
/// j has the rows i, i + x and so on, and the heads from 16 * j on of each
/// group; rows' spans are shared over y. It writes partial results. Of these
/// sluice_attend_combine makes out: blocks of combineThreads(dim), grid (x,
/// heads) with any x >= 1, over which rows are shared in the same way,
/// combineSharedBytes(dim). For prompts sluice_attend_tile_<kind>_<dim> takes
/// tileRows() rows of one sequence at a time and writes out itself: blocks of
/// attendThreads(dim), grid (divideUp(rowCapacity, tileRows()), kvHeads),
/// tileSharedBytes(dim); groups of at most maxTileGroup(dim) heads. Bit for
/// bit the same. It does tiles that are chunks: tileRows() rows of one sequence
/// at consecutive positions. With skipChunks the two others leave these out; it
/// is 0 for wider groups. What a chunk is they find out in each launch from the
/// rows as they are, so each row is one kernel's, whoever has left.
///
/// Memory for partial results is bounded by the host, which says of each row
/// where the places of its spans begin. A row without has one place, and one
/// warp adds its spans up there: slower where the row's sequence is long, and
/// the same bits.
///
/// The host checks: heads a multiple of kvHeads, at most maxAttendHeads;
/// cacheDim(headDim) != 0; places of different rows do not overlap, and end at
/// placeCount.
struct AttendArguments {
  const float *q; ///< [row][heads][headDim]
  float *out;     ///< the same
  const uint8_t *cache;
  RowTable rows;
  const float *alibiSlopes; ///< null, or [heads]
  /// attendPartialFloats(): of rows with places for their spans, from place
  /// spanPlaces[row] on, [head][span of the row's positions]; then, of the
  /// others, [row][head] from place `placeCount` on; spanFloats() each, and as
  /// many to a place as there are heads.
  float *partials;
  /// [row]: a warp for each span, or, below 0, one for all: then nothing is
  /// read of other warps, and it takes longer. The same bits.
  const int32_t *spanPlaces;
  int32_t placeCount;
  int32_t heads;
  int32_t kvHeads;
  int32_t headDim;
  int32_t window; ///< 0: none
  float scale;
  float softcap; ///< 0: none
  int32_t skipChunks;
};

/// Of a span: the maximum, the sum, and acc[dim].
constexpr int32_t spanFloats(int32_t dim) { return dim + 4; }

/// Places that a row takes which sees positions up to `position`: one for each
/// span from the sequence's first on, as layers differ in what they see.
constexpr int32_t spansOf(int32_t position) {
  return position / spanTokens + 1;
}

/// Floats of the partial results of a launch.
constexpr size_t attendPartialFloats(int32_t dim, int32_t heads,
                                     int32_t rowCapacity, int32_t placeCount) {
  size_t places = size_t(placeCount) + size_t(rowCapacity);
  return places * size_t(heads) * size_t(spanFloats(dim));
}

/// The most query heads: a grid's y.
constexpr int32_t maxAttendHeads = 65535;

/// The widest group of query heads that tiles are made of.
constexpr int32_t maxTileGroup(int32_t dim) {
  return attendWarps(dim) * warpPairs;
}

/// Rows of a tile, whose pairs are those of a block; 0: the group is too wide.
constexpr int32_t tileRows(int32_t dim, int32_t group) {
  return maxTileGroup(dim) / group;
}

/// Of sluice_attend_combine: a thread for each number of a head.
constexpr int32_t combineThreads(int32_t dim) { return dim; }
constexpr int32_t maxCombineThreads = 256;

/// Three numbers of each of as many spans as there are threads, and one of each
/// warp.
constexpr int32_t combineSharedBytes(int32_t dim) {
  return combineThreads(dim) * 3 * 4 + combineThreads(dim) / 32 * 4;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_CACHEABI_H
