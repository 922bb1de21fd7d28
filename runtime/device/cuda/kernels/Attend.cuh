//===- Attend.cuh - attention split over the cache, and in tiles ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If there are few rows, each span of the cache has a warp, so that the whole
// chip reads a long sequence. The results of the spans go to memory, and a
// second kernel merges them. For prompts, each tile of rows has a block, whose
// warps share what they read and merge the spans as they go. The spans and the
// merging are the same in both.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTEND_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTEND_CUH

#include "runtime/device/cuda/kernels/AttendSpan.cuh"

namespace sluice::cuda {

/// Returns whether the tile of `row` is whole, of one sequence and of
/// consecutive positions, as far as its rows `begin`, `begin` + `step` and so
/// on show. The lanes of a warp may check some of the rows each.
SLUICE_DEVICE bool isChunk(const AttendArguments &arg, int32_t row,
                           int32_t rowsOfTile, int32_t begin, int32_t step) {
  const int32_t first = row / rowsOfTile * rowsOfTile;
  if (first + rowsOfTile > *arg.rows.rowCount)
    return false;
  const int32_t *sequences = arg.rows.sequences + first;
  const int32_t *positions = arg.rows.positions + first;
  // In most tiles that are not chunks the last row does not fit.
  const int32_t last = rowsOfTile - 1;
  if (sequences[last] != sequences[0] || positions[last] != positions[0] + last)
    return false;
  // The loads do not wait for one another.
  bool chunk = true;
#pragma unroll 4
  for (int32_t i = begin; i < last; i += step)
    chunk &= sequences[i] == sequences[0] && positions[i] == positions[0] + i;
  return chunk;
}

/// Returns whether another kernel computes the row. Rows of groups with more
/// heads than a tile has are in no tile.
SLUICE_DEVICE bool isSkipped(const AttendArguments &arg, int32_t row) {
  int32_t rows = tileRows(cacheDim(arg.headDim), arg.heads / arg.kvHeads);
  return arg.skipChunks && rows > 0 && isChunk(arg, row, rows, 0, 1);
}

/// For blocks that go over rows: returns the first of `first` and each
/// `step`-th row after it that is not skipped, or -1. Whole warps call it and
/// look at 32 rows at a time, one a lane. It is called again for the next row,
/// so that only the row has to be kept in registers in between.
SLUICE_DEVICE int32_t nextRow(const AttendArguments &arg, int32_t first,
                              int32_t step) {
  const int32_t count = *arg.rows.rowCount;
  for (int32_t base = first; base < count; base += 32 * step) {
    const int32_t row = base + int32_t(laneIndex()) * step;
    const uint32_t votes = voteOf(row < count && !isSkipped(arg, row));
    if (votes != 0)
      return base + bitCount((votes & (0u - votes)) - 1) * step;
  }
  return -1;
}

/// Returns where the results of the pair lie: those of span 0, or those of all
/// spans together. `place` is the row's place.
SLUICE_DEVICE float *partialsOf(const AttendArguments &arg, const Pair &pair,
                                int32_t place) {
  int64_t at = place < 0
                   ? int64_t(arg.placeCount + pair.row) * arg.heads + pair.head
                   : int64_t(place) * arg.heads +
                         int64_t(pair.head) * spansOf(pair.last);
  return arg.partials + at * spanFloats(cacheDim(arg.headDim));
}

/// Computes the spans of one row and 16 heads of a group in one warp.
template <CacheKind kind, int dim> class SpanWarp {
  static constexpr int32_t spanPages = spanTokens / pageTokens;
  static constexpr int32_t warpBytes =
      (2 * pageTokens + warpPairs) * sharedRowBytes(dim);

public:
  SLUICE_MEMBER SpanWarp(const AttendArguments &arguments, int32_t row,
                         const Pair &any, uint8_t *shared)
      : arg(arguments), row(row), any(any), place(arguments.spanPlaces[row]),
        isSplit(place >= 0),
        attention(arguments, int32_t(blockZ()), arguments.rows.sequences[row],
                  shared, shared + 2 * pageTokens * sharedRowBytes(dim)) {}

  SLUICE_MEMBER static uint8_t *shared() {
    return sharedMemory() + int32_t(warpIndex()) * warpBytes;
  }

  /// Computes each `step`-th span from `span` on, of those that the row sees;
  /// there must be at least one. The keys are requested before the queries are
  /// read.
  SLUICE_MEMBER void run(int32_t span, int32_t step, int32_t firstHead) {
    begin(span);
    setPairs(firstHead);
    for (;;) {
      attention.beginSpan();
      int32_t to = lastPage(span);
      for (int32_t page = firstPage(span); page <= to; ++page)
        attention.add(page);
      if (isSplit) {
        attention.end();
        syncWarp();
      }
      keep(span);
      span += step;
      if (span > any.last / spanTokens)
        break;
      if (isSplit)
        begin(span);
    }
    attention.end();
    if (!isSplit)
      keepTotals();
  }

private:
  const AttendArguments &arg;
  int32_t row;
  const Pair &any; ///< the pair of the row and any head
  int32_t place;
  bool isSplit; ///< whether each span has a place of its own
  SpanAttention<kind, dim, 1> attention;
  // For a row that is not split: the result so far.
  float maximum[2], sum[2];
  bool isFirst = true;

  SLUICE_MEMBER int32_t firstPage(int32_t span) const {
    int32_t page = any.first / pageTokens;
    return span * spanPages > page ? span * spanPages : page;
  }
  SLUICE_MEMBER int32_t lastPage(int32_t span) const {
    int32_t page = any.last / pageTokens;
    int32_t end = (span + 1) * spanPages - 1;
    return end < page ? end : page;
  }

  /// A row that is not split has no gap between its spans.
  SLUICE_MEMBER void begin(int32_t span) {
    attention.begin(firstPage(span),
                    isSplit ? lastPage(span) : any.last / pageTokens);
  }

  SLUICE_MEMBER void setPairs(int32_t firstHead) {
    int32_t group = arg.heads / arg.kvHeads;
    int32_t head = int32_t(blockZ()) * group + firstHead;
#pragma unroll 4
    for (int32_t i = 0; i < warpPairs; ++i)
      attention.setPair(i, firstHead + i < group ? pairOf(arg, row, head + i)
                                                 : Pair());
  }

  /// Stores the result of the span, or merges it into the row's place. In the
  /// merge each thread reads only what it has written itself.
  SLUICE_MEMBER void keep(int32_t span) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Pair &pair = attention.pair(half);
      float spanSum = attention.wholeSum(half);
      if (pair.last < 0)
        continue;
      float *partial = partialsOf(arg, pair, place);
      if (isSplit)
        partial += span * spanFloats(dim);
      SpanMerge merge(isFirst ? minusInfinity() : maximum[half],
                  attention.maximum[half]);
      maximum[half] = merge.maximum;
      sum[half] = merge.of(isFirst ? 0 : sum[half], spanSum);
      if (isSplit)
        storeHead(partial, half);
#pragma unroll
      for (int n = 0; n < dim / 8; ++n) {
        float *two = partial + 4 + 8 * n + laneIndex() % 4 * 2;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float value = attention.acc[n][2 * half + i];
          two[i] = isFirst ? value : merge.of(two[i], value);
        }
      }
    }
    isFirst = isSplit;
  }

  SLUICE_MEMBER void storeHead(float *partial, int half) const {
    if (laneIndex() % 4 != 0)
      return;
    partial[0] = maximum[half];
    partial[1] = sum[half];
  }

  SLUICE_MEMBER void keepTotals() const {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (attention.pair(half).last >= 0)
        storeHead(partialsOf(arg, attention.pair(half), place), half);
  }
};

/// Computes the warp's part of a row's spans. The warp has shared memory of its
/// own, and add() ends with a barrier. After it no lane reads what the pages of
/// the next row overwrite.
template <CacheKind kind, int dim>
SLUICE_DEVICE void attendRow(const AttendArguments &arg, int32_t row,
                             int32_t firstHead) {
  const Pair any = pairOf(arg, row, 0);
  const bool isSplit = arg.spanPlaces[row] >= 0;
  const int32_t part =
      int32_t(blockY()) * attendWarps(dim) + int32_t(warpIndex());
  const int32_t span = any.first / spanTokens + part;
  // If the row is not split, the first warp computes all of it.
  if (span > any.last / spanTokens || (!isSplit && part > 0))
    return;
  SpanWarp<kind, dim> warp(arg, row, any, SpanWarp<kind, dim>::shared());
  warp.run(span, isSplit ? int32_t(gridY()) * attendWarps(dim) : 1, firstHead);
}

/// sluice_attend_<kind>_<dim>.
template <CacheKind kind, int dim>
SLUICE_DEVICE void attendSpans(const AttendArguments &arg) {
  launchDependents();
  waitForPrior();
  const int32_t tilesOfHeads = divideUp(arg.heads / arg.kvHeads, warpPairs);
  const int32_t step = int32_t(gridX()) / tilesOfHeads;
  for (int32_t row = int32_t(blockX()) / tilesOfHeads;; row += step) {
    row = nextRow(arg, row, step);
    if (row < 0)
      return;
    attendRow<kind, dim>(arg, row,
                         int32_t(blockX()) % tilesOfHeads * warpPairs);
  }
}

/// Adds 0, since the sign of a zero depends on the number of merges.
SLUICE_DEVICE float outputOf(float acc, float sum) { return acc / sum + 0.0f; }

/// The weights by which a row's spans are merged, for as many spans at a time
/// as the block has threads: how much of the spans before stays at each span,
/// and how much of the span is added. Each thread has one span; all threads
/// come together. A maximum is the same in any order, so the result of one
/// merge after another is known at once.
class CombineWeights {
public:
  float *keep, *take, *sums; ///< [span], in shared memory

  SLUICE_MEMBER explicit CombineWeights(int32_t threads)
      : keep(reinterpret_cast<float *>(sharedMemory())), take(keep + threads),
        sums(take + threads), warpMaxima(sums + threads), warps(threads / 32) {}

  /// Sets the weights. `maximum` and `sum` belong to the thread's span; they
  /// are minus infinity and 0 if there is none. The weights are written between
  /// two barriers, so a thread may call it again, also for another pair, as
  /// soon as it has read the last weights.
  SLUICE_MEMBER void set(float maximum, float sum) {
    float upTo = maximum; // over the warp's spans up to this one
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
      float other = shuffleFrom(upTo, laneIndex() - distance);
      if (laneIndex() >= distance && other > upTo)
        upTo = other;
    }
    if (laneIndex() == 31)
      warpMaxima[warpIndex()] = upTo;
    float before = shuffleFrom(upTo, laneIndex() - 1);
    before = laneIndex() == 0 ? minusInfinity() : before;
    syncThreads();
    for (int32_t warp = 0; warp < warps; ++warp) {
      float other = warpMaxima[warp];
      if (warp < int32_t(warpIndex()) && other > before)
        before = other;
      total = other > total ? other : total;
    }
    before = last > before ? last : before;
    last = total;
    SpanMerge merge(before, maximum);
    keep[threadIndex()] = merge.keep;
    take[threadIndex()] = merge.take;
    sums[threadIndex()] = sum * merge.take;
    syncThreads();
  }

private:
  float *warpMaxima;
  int32_t warps;
  float last = minusInfinity();  ///< over the spans before these
  float total = minusInfinity(); ///< over all spans so far
};

/// Merges the spans of a pair. The whole block calls it.
SLUICE_DEVICE void combinePair(const AttendArguments &arg, const Pair &pair) {
  const int32_t dim = cacheDim(arg.headDim), threads = combineThreads(dim);
  const auto d = int32_t(threadIndex());
  const int32_t floats = spanFloats(dim);
  const int32_t place = arg.spanPlaces[pair.row];
  const float *partials = partialsOf(arg, pair, place);
  int32_t count = 1;
  if (place >= 0) {
    int32_t first = pair.first / spanTokens;
    partials += int64_t(first) * floats;
    count = pair.last / spanTokens - first + 1;
  }
  CombineWeights weights(threads);
  float sum = 0, acc = 0;
  for (int32_t begin = 0; begin < count; begin += threads) {
    const int32_t here = count - begin < threads ? count - begin : threads;
    const float *from = partials + int64_t(begin) * floats;
    const float *mine = from + int64_t(d) * floats;
    weights.set(d < here ? mine[0] : minusInfinity(), d < here ? mine[1] : 0);
    constexpr int32_t together = 8; // loads in flight
    for (int32_t i = 0; i < here; i += together) {
      float value[together];
#pragma unroll
      for (int32_t j = 0; j < together; ++j)
        value[j] = i + j < here ? from[int64_t(i + j) * floats + 4 + d] : 0;
#pragma unroll
      for (int32_t j = 0; j < together; ++j) {
        if (i + j >= here)
          break;
        sum = multiplyAdd(sum, weights.keep[i + j], weights.sums[i + j]);
        acc = multiplyAdd(acc, weights.keep[i + j],
                          value[j] * weights.take[i + j]);
      }
    }
  }
  if (d < arg.headDim)
    arg.out[(int64_t(pair.row) * arg.heads + pair.head) * arg.headDim + d] =
        outputOf(acc, sum);
}

/// sluice_attend_combine.
SLUICE_DEVICE void attendCombine(const AttendArguments &arg) {
  launchDependents();
  waitForPrior();
  const auto step = int32_t(gridX());
  for (auto row = int32_t(blockX());; row += step) {
    row = nextRow(arg, row, step);
    if (row < 0)
      return;
    combinePair(arg, pairOf(arg, row, int32_t(blockY())));
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
  if (voteOf(isChunk(arg, firstRow, rows, int32_t(laneIndex()), 32)) !=
      0xffffffffu)
    return;
  constexpr int warps = attendWarps(dim);
  constexpr int pageBytes = 2 * pageTokens * sharedRowBytes(dim);
  constexpr int queryBytes = warpPairs * sharedRowBytes(dim);
  uint8_t *shared = sharedMemory();
  SpanAttention<kind, dim, warps> attention(
      arg, int32_t(blockY()), arg.rows.sequences[firstRow], shared,
      shared + pageBytes + warpIndex() * queryBytes);
  int32_t page = pairOf(arg, firstRow, 0).first / pageTokens;
  int32_t lastPage = arg.rows.positions[firstRow + rows - 1] / pageTokens;
  attention.begin(page, lastPage);
  for (int32_t i = 0; i < warpPairs; ++i) {
    int32_t index = int32_t(warpIndex()) * warpPairs + i;
    bool exists = index < rows * group;
    attention.setPair(i, exists
                             ? pairOf(arg, firstRow + index / group,
                                      int32_t(blockY()) * group + index % group)
                             : Pair());
  }
  // The sums so far, [number][thread]. Each thread has its own numbers.
  auto *totals =
      reinterpret_cast<float *>(shared + pageBytes + warps * queryBytes) +
      threadIndex();
  constexpr int stride = 32 * warps;
  constexpr int32_t spanPages = spanTokens / pageTokens;
  for (int i = 0; i < dim / 2; ++i)
    totals[i * stride] = 0;
  float maximum[2] = {minusInfinity(), minusInfinity()}, sum[2] = {};
  while (page <= lastPage) {
    attention.beginSpan();
    for (bool spanEnds = false; !spanEnds; ++page) {
      attention.add(page);
      spanEnds = page == lastPage || page % spanPages == spanPages - 1;
      // A pair's sums are complete after the last page that it sees. What later
      // pages, whose probabilities are all zeros, do to the sums does not
      // matter: attention by spans has no such pages.
      bool ends[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int32_t own = attention.pair(half).last / pageTokens;
        ends[half] = own == page || (spanEnds && own > page);
      }
      if (voteOf(ends[0] || ends[1]) == 0)
        continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float spanSum = attention.wholeSum(half);
        if (!ends[half])
          continue;
        SpanMerge merge(maximum[half], attention.maximum[half]);
        maximum[half] = merge.maximum;
        sum[half] = merge.of(sum[half], spanSum);
#pragma unroll
        for (int n = 0; n < dim / 8; ++n)
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float &total = totals[(4 * n + 2 * half + i) * stride];
            total = merge.of(total, attention.acc[n][2 * half + i]);
          }
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
