//===- Attend.cuh - attention split over the cache, and in tiles ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few rows: a warp for each span of the cache, so that a long sequence is read
// by the whole chip; what they find goes to memory, and a second kernel merges
// it. Prompts: a block for each tile of rows, whose warps share what they read
// and merge as they go. The spans, and the merging, are the same.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTEND_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTEND_CUH

#include "runtime/device/cuda/kernels/AttendSpan.cuh"

namespace sluice::cuda {

/// Whether the tile that `row` is in is whole, of one sequence and consecutive.
/// Called by whole warps.
SLUICE_DEVICE bool isChunk(const AttendArguments &arg, int32_t row,
                           int32_t rowsOfTile) {
  int32_t first = row / rowsOfTile * rowsOfTile;
  bool chunk = first + rowsOfTile <= *arg.rows.rowCount;
  for (int32_t i = int32_t(laneIndex()); chunk && i < rowsOfTile; i += 32)
    chunk = arg.rows.sequences[first + i] == arg.rows.sequences[first] &&
            arg.rows.positions[first + i] == arg.rows.positions[first] + i;
  return voteOf(chunk) == 0xffffffffu;
}

/// Whether the row is another kernel's. As isChunk, groups of more heads than a
/// tile has are in no tile.
SLUICE_DEVICE bool isSkipped(const AttendArguments &arg, int32_t row) {
  int32_t rows = tileRows(cacheDim(arg.headDim), arg.heads / arg.kvHeads);
  return arg.skipChunks && rows > 0 && isChunk(arg, row, rows);
}

SLUICE_DEVICE float *partialOf(const AttendArguments &arg, const Pair &pair,
                               int32_t span) {
  int64_t place =
      (int64_t(pair.row) * arg.heads + pair.head) * arg.spansPerRow + span;
  return arg.partials + place * spanFloats(cacheDim(arg.headDim));
}

/// sluice_attend_<kind>_<dim>.
template <CacheKind kind, int dim>
SLUICE_DEVICE void attendSpans(const AttendArguments &arg) {
  launchDependents();
  waitForPrior();
  int32_t group = arg.heads / arg.kvHeads;
  int32_t tilesOfHeads = divideUp(group, warpPairs);
  int32_t row = int32_t(blockY()) / tilesOfHeads;
  if (row >= *arg.rows.rowCount || isSkipped(arg, row))
    return;
  int32_t firstHead = int32_t(blockY()) % tilesOfHeads * warpPairs;
  uint8_t *shared = sharedMemory() + int32_t(warpIndex()) *
                                         (2 * pageTokens + warpPairs) *
                                         sharedRowBytes(dim);
  SpanAttention<kind, dim, 1> attention(
      arg, int32_t(blockZ()), arg.rows.sequences[row], shared,
      shared + 2 * pageTokens * sharedRowBytes(dim));
  for (int32_t i = 0; i < warpPairs; ++i) {
    bool exists = firstHead + i < group;
    attention.setPair(
        i, exists ? pairOf(arg, row, int32_t(blockZ()) * group + firstHead + i)
                  : Pair());
  }
  Pair any = pairOf(arg, row, 0);
  constexpr int32_t spanPages = spanTokens / pageTokens;
  int32_t step = int32_t(gridX()) * attendWarps(dim);
  int32_t span = any.first / spanTokens + int32_t(blockX()) * attendWarps(dim) +
                 int32_t(warpIndex());
  for (; span <= any.last / spanTokens; span += step) {
    int32_t from = any.first / pageTokens, to = any.last / pageTokens;
    from = span * spanPages > from ? span * spanPages : from;
    to = (span + 1) * spanPages - 1 < to ? (span + 1) * spanPages - 1 : to;
    attention.begin(from, to);
    attention.beginSpan();
    for (int32_t page = from; page <= to; ++page)
      attention.add(page);
    attention.endSpan();
    attention.end();
    syncWarp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Pair &pair = attention.pair(half);
      if (pair.last < 0)
        continue;
      float *partial = partialOf(arg, pair, span);
      if (laneIndex() % 4 == 0) {
        partial[0] = attention.maximum[half];
        partial[1] = attention.sum[half];
      }
#pragma unroll
      for (int n = 0; n < dim / 8; ++n) {
        float *two = partial + 4 + 8 * n + laneIndex() % 4 * 2;
        two[0] = attention.acc[n][2 * half];
        two[1] = attention.acc[n][2 * half + 1];
      }
    }
  }
}

/// What is left of a zero's sign after merges depends on how many there were.
SLUICE_DEVICE float outputOf(float acc, float sum) { return acc / sum + 0.0f; }

/// sluice_attend_combine.
SLUICE_DEVICE void attendCombine(const AttendArguments &arg) {
  launchDependents();
  waitForPrior();
  auto row = int32_t(blockX());
  if (row >= *arg.rows.rowCount || isSkipped(arg, row))
    return;
  Pair pair = pairOf(arg, row, int32_t(blockY()));
  float *out = arg.out + (int64_t(row) * arg.heads + pair.head) * arg.headDim;
  for (int32_t d = int32_t(threadIndex()); d < arg.headDim;
       d += combineThreads) {
    float maximum = minusInfinity(), sum = 0, acc = 0;
    for (int32_t span = pair.first / spanTokens; span <= pair.last / spanTokens;
         ++span) {
      const float *partial = partialOf(arg, pair, span);
      Merge merge(maximum, partial[0]);
      maximum = merge.maximum;
      sum = merge.of(sum, partial[1]);
      acc = merge.of(acc, partial[4 + d]);
    }
    out[d] = outputOf(acc, sum);
  }
}

/// sluice_attend_tile_<kind>_<dim>.
template <CacheKind kind, int dim>
SLUICE_DEVICE void attendTile(const AttendArguments &arg) {
  launchDependents();
  waitForPrior();
  int32_t group = arg.heads / arg.kvHeads;
  int32_t rows = tileRows(dim, group);
  int32_t firstRow = int32_t(blockX()) * rows;
  if (firstRow >= *arg.rows.rowCount || !isChunk(arg, firstRow, rows))
    return;
  constexpr int warps = attendWarps(dim);
  constexpr int pageBytes = 2 * pageTokens * sharedRowBytes(dim);
  constexpr int queryBytes = warpPairs * sharedRowBytes(dim);
  uint8_t *shared = sharedMemory();
  SpanAttention<kind, dim, warps> attention(
      arg, int32_t(blockY()), arg.rows.sequences[firstRow], shared,
      shared + pageBytes + warpIndex() * queryBytes);
  for (int32_t i = 0; i < warpPairs; ++i) {
    int32_t index = int32_t(warpIndex()) * warpPairs + i;
    bool exists = index < rows * group;
    attention.setPair(i, exists
                             ? pairOf(arg, firstRow + index / group,
                                      int32_t(blockY()) * group + index % group)
                             : Pair());
  }
  // The sums so far: each thread's own numbers, [number][thread].
  auto *totals =
      reinterpret_cast<float *>(shared + pageBytes + warps * queryBytes) +
      threadIndex();
  constexpr int stride = 32 * warps;
  for (int i = 0; i < dim / 2; ++i)
    totals[i * stride] = 0;
  float maximum[2] = {minusInfinity(), minusInfinity()}, sum[2] = {};
  int32_t page = pairOf(arg, firstRow, 0).first / pageTokens;
  int32_t lastPage = arg.rows.positions[firstRow + rows - 1] / pageTokens;
  attention.begin(page, lastPage);
  while (page <= lastPage) {
    attention.beginSpan();
    do
      attention.add(page++);
    while (page <= lastPage && page % (spanTokens / pageTokens) != 0);
    attention.endSpan();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Merge merge(maximum[half], attention.maximum[half]);
      maximum[half] = merge.maximum;
      sum[half] = merge.of(sum[half], attention.sum[half]);
#pragma unroll
      for (int n = 0; n < dim / 8; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float &total = totals[(4 * n + 2 * half + i) * stride];
          total = merge.of(total, attention.acc[n][2 * half + i]);
        }
    }
  }
  attention.end();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Pair &pair = attention.pair(half);
    if (pair.last < 0)
      continue;
    float *out =
        arg.out + (int64_t(pair.row) * arg.heads + pair.head) * arg.headDim;
    for (int n = 0; n < dim / 8; ++n)
      for (int i = 0; i < 2; ++i) {
        int32_t d = 8 * n + int32_t(laneIndex() % 4) * 2 + i;
        if (d < arg.headDim)
          out[d] = outputOf(totals[(4 * n + 2 * half + i) * stride], sum[half]);
      }
  }
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTEND_CUH
