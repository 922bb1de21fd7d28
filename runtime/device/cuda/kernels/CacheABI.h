//===- CacheABI.h - the cache in device memory, and attention -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of KernelABI.h hold here, too. Pages are those of CachePages: 32
// positions of one sequence. Position p of a sequence lies in slot p % 32 of
// its page p / 32. A layer's cache is page[page][kv head], each of
// pageHeadBytes():
//
//   k[32][dim]        keys, token by token, in the cache's format
//   v[32][dim]        values, likewise
//   kScales[32]       E4M3 only: f32, the scale of each token's key
//   vScales[32]       E4M3 only: f32, the scale of each token's value
//
// dim is headDim rounded up to 64, 128 or 256; the numbers from headDim on are
// zeros. In E4M3 the key and the value of a token and head have a scale each.
// It is a power of two that brings the largest magnitude into [128, 256). What
// is stored depends on the token alone, so it is the same in every step and
// page.
//
// The memory is zeroed before its first use, and the numbers in `v` (in E4M3
// also `vScales`) are always finite: attention multiplies the values of
// invisible tokens by a probability of zero, which must not give NaN. Therefore
// numbers beyond the format's range are stored as its largest number, and
// infinities and NaNs as zeros. If a token's key or value had such infinities
// or NaNs, the first number of its key (in E4M3 the scale of its key) becomes a
// NaN, so that every row that sees the token gets NaNs.
//
// Forks (branches of guesses) are sequences of their own. The host shares or
// copies their pages; the kernels handle them like other sequences, except for
// the mirrors of sluice_append_cache.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_CACHEABI_H
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_CACHEABI_H

#include "runtime/device/cuda/kernels/KernelABI.h"

namespace sluice::cuda {

enum class CacheKind : uint8_t { F16, BF16, E4M3 };
constexpr int cacheKindCount = 3;

/// The tokens of a page, equal to CachePages::pageTokens.
constexpr int32_t pageTokens = 32;

/// Returns the dimension of the kernels for headDim, or 0 if it is too large.
constexpr int32_t cacheDim(int32_t headDim) {
  return headDim <= 64 ? 64 : headDim <= 128 ? 128 : headDim <= 256 ? 256 : 0;
}

constexpr int32_t cacheNumberBytes(CacheKind kind) {
  return kind == CacheKind::E4M3 ? 1 : 2;
}

/// Returns the bytes of the keys of one kv head in a page; its values take as
/// many.
constexpr int32_t pageHalfBytes(CacheKind kind, int32_t dim) {
  return pageTokens * dim * cacheNumberBytes(kind);
}

constexpr int32_t pageHeadBytes(CacheKind kind, int32_t dim) {
  return 2 * pageHalfBytes(kind, dim) +
         (kind == CacheKind::E4M3 ? 2 * pageTokens * 4 : 0);
}

/// The rows of a step and the pages of their sequences.
struct RowTable {
  const int32_t *rowCount;
  const int32_t *positions; ///< [row]
  const int32_t *sequences; ///< [row]
  /// The pages of sequence s start at s * pagesPerSequence. If that is 1, a
  /// sequence's number is the index of its first page in this array.
  const int32_t *pages;
  int32_t pagesPerSequence;
};

/// Rotates the first 2 * pairs features of each head, and copies the others:
///
///   y0 = x0 * cos - x1 * sin, y1 = x1 * cos + x0 * sin
///
/// of the features p and p + pairs, or 2p and 2p + 1, for each pair p. The bits
/// are those of the generated kernels.
struct Rotation {
  const float *x;     ///< [row][heads][headDim]
  float *y;           ///< likewise
  const float *table; ///< [position]: `pairs` cosines, then as many sines
  int32_t heads;
  int32_t pairs;
  bool isHalf; ///< whether a pair is p and p + pairs
};

constexpr int32_t appendThreads = 128;

/// sluice_append_cache: grid (divideUp(rowCapacity * (kvHeads +
/// queries.heads), 4)), blocks of appendThreads threads, no shared memory. A
/// warp stores the key and the value of one row and head, or rotates a query. A
/// mirror stores a row in a second sequence as well, at the row's position;
/// mirrors are distributed over all warps.
struct AppendArguments {
  /// If `keys.x` is not null, keys are rotated before they are stored: `k` is
  /// then not read.
  Rotation keys;
  /// If there are no heads, no queries are rotated.
  Rotation queries;
  /// [row][kvHeads][headDim]
  const float *k;
  /// [row][kvHeads][headDim]
  const float *v;
  uint8_t *cache; ///< the layer's cache
  RowTable rows;
  const int32_t *mirrorCount;     ///< null if there are no mirrors
  const int32_t *mirrorRows;      ///< [mirror]
  const int32_t *mirrorSequences; ///< [mirror]
  int32_t kvHeads;
  int32_t headDim;
  CacheKind kind;
};

constexpr int32_t copyThreads = 256;

/// The cache of one layer.
struct LayerPages {
  uint8_t *cache;
  int64_t pageBytes; ///< bytes of a page, for all kv heads
};

/// sluice_copy_pages: grid (any x >= 1, layers), blocks of copyThreads, no
/// shared memory. Copies pages in order, in every layer: a later copy may read
/// or overwrite a page that an earlier one has written.
struct PageCopyArguments {
  const LayerPages *layers;
  const int32_t *copies; ///< [copy][2]: source page, target page
  const int32_t *copyCount;
};

/// The positions of a span, which are four pages. Attention sums each span from
/// zero. Spans begin at multiples of spanTokens, and a row's sums over spans
/// are added in ascending order.
constexpr int32_t spanTokens = 4 * pageTokens;

/// Pairs of a row and a query head that a warp multiplies at once.
constexpr int32_t warpPairs = 16;

/// Warps of a block. More would not fit into the shared memory of every chip.
constexpr int32_t attendWarps(int32_t dim) { return dim <= 128 ? 4 : 2; }
constexpr int32_t attendThreads(int32_t dim) { return 32 * attendWarps(dim); }

/// Blocks of sluice_attend_<kind>_<dim> that a multiprocessor with 227 KiB of
/// shared memory runs at a time. Registers are allocated for that many.
constexpr int32_t attendResidentBlocks(int32_t dim) {
  return dim <= 64 ? 4 : 2;
}

/// Bytes of a row of keys, values or queries in shared memory: 16-bit numbers,
/// and 16 bytes of padding so that eight rows lie in different banks.
constexpr int32_t sharedRowBytes(int32_t dim) { return 2 * dim + 16; }

/// Bytes of the keys and the values of a page, and of queries, of all warps of
/// a block.
constexpr int32_t attendPageBytes(int32_t dim) {
  return attendWarps(dim) * (2 * pageTokens + warpPairs) * sharedRowBytes(dim);
}

/// Shared memory of sluice_attend_<kind>_<dim>: pages and queries, and a
/// ticket. For a dim above 64 it exceeds 48 KiB, which the host allows for the
/// kernel.
constexpr int32_t attendSharedBytes(int32_t dim) {
  return attendPageBytes(dim) + 16;
}
static_assert(attendSharedBytes(64) >= tailSharedBytes);

/// Shared memory of sluice_attend_tile_<kind>_<dim>: one page for all warps,
/// and queries and sums for each warp.
constexpr int32_t tileSharedBytes(int32_t dim) {
  return (2 * pageTokens + attendWarps(dim) * warpPairs) * sharedRowBytes(dim) +
         attendWarps(dim) * warpPairs * dim * 4;
}

/// Attention, as SluiceAttention of CpuProgramABI.h defines it. Scores are in
/// f32. Queries and probabilities are rounded to f16 (for a BF16 cache to
/// bf16); queries of f16 are first scaled by a power of two, like operand rows.
///
/// For each (row, query head), with spans and pages in ascending order:
///
///   in a span, from m = -infinity, sum = acc = 0, for each page with a visible
///   token: s[t] = score; m' = max(m, s); f = exp(m - m');
///     p[t] = exp(s[t] - m'), 0 where t is not visible
///     sum = sum * f + p, acc = acc * f + p * v
///   over spans: (M, S, A) = the first span's; then for each
///     M' = max(M, m); S = S * exp(M - M') + sum * exp(m - M'), A likewise
///   out = A / S
///
/// Two kernels compute this, with the same bits:
///
/// - sluice_attend_<kind>_<dim>, with the kinds f16 bf16 e4m3, computes spans
///   in parallel and writes partial results. It has blocks of
///   attendThreads(dim), a grid (x * divideUp(group, 16), y, kvHeads) with any
///   x, y >= 1, and attendSharedBytes(dim). Block i * divideUp(group, 16) + j
///   computes the rows i, i + x and so on, and the heads from 16 * j on of each
///   group. The y blocks share a row's spans, and the last of them makes `out`
///   of the partial results. It may have a tail without norms if the graph is
///   for one row.
/// - sluice_attend_tile_<kind>_<dim> is for prompts. It computes tiles that are
///   chunks, tileRows() rows of one sequence at consecutive positions, and
///   writes `out` itself. It has blocks of attendThreads(dim), a grid
///   (divideUp(rowCapacity, tileRows()), kvHeads), and tileSharedBytes(dim);
///   groups have at most maxTileGroup(dim) heads.
///
/// If skipChunks is not 0, the first kernel skips the chunks. It must be 0 if a
/// group has more than maxTileGroup(dim) heads. In each launch the kernels find
/// the chunks anew from the rows that the step has then, so exactly one of them
/// computes each row, whichever rows have left.
///
/// The host bounds the memory for partial results: it says for each row where
/// the places of its spans begin. A row without such places has one place, and
/// one warp adds up its spans there. That is slower for a long sequence and
/// gives the same bits.
///
/// The host checks that heads is a multiple of kvHeads and at most
/// maxAttendHeads, that cacheDim(headDim) != 0, and that the places of
/// different rows do not overlap and end at placeCount.
struct AttendArguments {
  const float *q; ///< [row][heads][headDim]
  /// [row][heads][headDim]
  float *out;
  const uint8_t *cache;
  RowTable rows;
  /// Null, or [heads].
  const float *alibiSlopes;
  /// Partial results, attendPartialFloats() floats: first, for rows with places
  /// for their spans, [head][span of the row's positions] from place
  /// spanPlaces[row] on; then, for the other rows, [row][head] from place
  /// `placeCount` on. A place holds one result of spanFloats() for each head.
  float *partials;
  /// [row]: the place of the row's first span; each span then has a warp. Below
  /// 0 if one warp adds up all spans, which takes longer but reads no results
  /// of other warps. The bits are the same.
  const int32_t *spanPlaces;
  /// If several blocks share a row's spans: attendTickets() tickets, which are
  /// 0 before and after the launch.
  uint32_t *tickets;
  int32_t placeCount;
  int32_t heads;
  int32_t kvHeads;
  int32_t headDim;
  int32_t window; ///< 0 if there is none
  float scale;
  float softcap; ///< 0 if there is none
  int32_t skipChunks;
  RowTail tail;
};

/// Floats of a span's result: the maximum, the sum, and acc[dim].
constexpr int32_t spanFloats(int32_t dim) { return dim + 4; }

/// Returns how many places a row needs that sees positions up to `position`. It
/// is one for each span from the start of the sequence, since layers differ in
/// which positions they see.
constexpr int32_t spansOf(int32_t position) {
  return position / spanTokens + 1;
}

/// Returns the floats of the partial results of a launch.
constexpr size_t attendPartialFloats(int32_t dim, int32_t heads,
                                     int32_t rowCapacity, int32_t placeCount) {
  size_t places = size_t(placeCount) + size_t(rowCapacity);
  return places * size_t(heads) * size_t(spanFloats(dim));
}

/// Returns the tickets of a launch: one for each row and 16 heads of a group.
constexpr int64_t attendTickets(int32_t heads, int32_t kvHeads,
                                int64_t rowCapacity) {
  return rowCapacity * kvHeads * divideUp(heads / kvHeads, warpPairs);
}

/// The maximum of query heads, so that the key heads fit into a grid's z.
constexpr int32_t maxAttendHeads = 65535;

/// The largest group of query heads that tiles support.
constexpr int32_t maxTileGroup(int32_t dim) {
  return attendWarps(dim) * warpPairs;
}

/// Returns the rows of a tile, whose pairs fill a block; 0 if the group is too
/// large.
constexpr int32_t tileRows(int32_t dim, int32_t group) {
  return maxTileGroup(dim) / group;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_CACHEABI_H
