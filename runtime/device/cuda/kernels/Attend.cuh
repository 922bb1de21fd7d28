//===- Attend.cuh - attention split over the cache, and in tiles ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If there are few rows, each span of the cache has a warp, so that the whole
// chip reads a long sequence. The results of the spans go to memory, and the
// last of the blocks that share a row merges them. For prompts, each tile of
// rows has a block, whose warps share what they read and merge the spans as
// they go. The spans and the merging are the same in both.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTEND_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTEND_CUH

#include "runtime/device/cuda/kernels/AttendSpan.cuh"
#include "runtime/device/cuda/kernels/RowTail.cuh"

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

/// Returns the first of the block's heads within their group.
SLUICE_DEVICE int32_t firstHeadOf(const AttendArguments &arg) {
  const int32_t tilesOfHeads = divideUp(arg.heads / arg.kvHeads, warpPairs);
  return int32_t(blockX()) % tilesOfHeads * warpPairs;
}

/// Computes the warp's part of a row's spans. The warp has shared memory of its
/// own, and add() ends with a barrier. After it no lane reads what the pages of
/// the next row overwrite.
template <CacheKind kind, int dim>
SLUICE_DEVICE void attendRow(const AttendArguments &arg, int32_t row) {
  const Pair any = pairOf(arg, row, 0);
  const bool isSplit = arg.spanPlaces[row] >= 0;
  const int32_t part =
      int32_t(blockY()) * attendWarps(dim) + int32_t(warpIndex());
  const int32_t span = any.first / spanTokens + part;
  // If the row is not split, the first warp computes all of it.
  if (span > any.last / spanTokens || (!isSplit && part > 0))
    return;
  SpanWarp<kind, dim> warp(arg, row, any, SpanWarp<kind, dim>::shared());
  warp.run(span, isSplit ? int32_t(gridY()) * attendWarps(dim) : 1,
           firstHeadOf(arg));
}

/// Adds 0, since the sign of a zero depends on the number of merges.
SLUICE_DEVICE float outputOf(float acc, float sum) { return acc / sum + 0.0f; }

/// The weights by which the spans of a pair are merged, 32 spans at a time, one
/// a lane: how much of the spans before stays at each span, and how much of the
/// span is added. A maximum is the same in any order, so the result of one
/// merge after another is known at once.
class MergeWeights {
public:
  float keep, take, sum; ///< of the lane's span

  /// Sets the weights. `maximum` and `spanSum` belong to the lane's span; they
  /// are minus infinity and 0 if there is none. The whole warp calls it for
  /// ascending spans.
  SLUICE_MEMBER void set(float maximum, float spanSum) {
    float upTo = maximum; // over the spans of these up to this one
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
      float other = shuffleFrom(upTo, laneIndex() - distance);
      if (laneIndex() >= distance && other > upTo)
        upTo = other;
    }
    float before = shuffleFrom(upTo, laneIndex() - 1);
    before = laneIndex() == 0 || last > before ? last : before;
    SpanMerge merge(before, maximum);
    keep = merge.keep;
    take = merge.take;
    sum = spanSum * merge.take;
    float all = shuffleFrom(upTo, 31);
    last = all > last ? all : last;
  }

private:
  float last = minusInfinity(); ///< over all spans so far
};

/// Merges the spans of a pair in one warp, which may be those of other blocks.
template <int dim> class PairMerge {
  static constexpr int vectors = dim > 128 ? dim / 128 : 1;
  static constexpr int32_t floats = spanFloats(dim);
  static constexpr int32_t together = 8; ///< spans whose loads are in flight

public:
  SLUICE_MEMBER PairMerge(const AttendArguments &arguments, const Pair &pair)
      : arg(arguments), pair(pair) {}

  SLUICE_MEMBER void run() {
    const int32_t place = arg.spanPlaces[pair.row];
    const float *partials = partialsOf(arg, pair, place);
    int32_t count = 1;
    if (place >= 0) {
      int32_t first = pair.first / spanTokens;
      partials += int64_t(first) * floats;
      count = pair.last / spanTokens - first + 1;
    }
    for (int32_t begin = 0; begin < count; begin += 32) {
      const int32_t here = count - begin < 32 ? count - begin : 32;
      setWeights(partials + int64_t(begin) * floats, here);
      for (int32_t i = 0; i < here; i += together)
        addSpans(partials + int64_t(begin + i) * floats, i, here);
    }
    store();
  }

private:
  const AttendArguments &arg;
  const Pair &pair;
  MergeWeights weights;
  float sum = 0;
  float acc[vectors][4] = {};

  /// Returns the first of the four numbers of the lane's vector `i`, which is
  /// beyond the last for some lanes if the dimension is below 128.
  SLUICE_MEMBER static int32_t numberOf(int i) {
    return (i * 32 + int32_t(laneIndex())) * 4;
  }

  SLUICE_MEMBER void setWeights(const float *partials, int32_t here) {
    float maximum = minusInfinity(), spanSum = 0;
    if (int32_t(laneIndex()) < here) {
      Vector4 head = loadL2(partials + int64_t(laneIndex()) * floats);
      maximum = floatOfBits(head.word[0]);
      spanSum = floatOfBits(head.word[1]);
    }
    weights.set(maximum, spanSum);
  }

  /// Adds the spans `begin` and up to `together` - 1 after it, of the `here`
  /// spans that have weights. All loads are in flight before the first number
  /// is used.
  SLUICE_MEMBER void addSpans(const float *partials, int32_t begin,
                              int32_t here) {
    Vector4 value[together][vectors] = {};
#pragma unroll
    for (int32_t j = 0; j < together; ++j)
#pragma unroll
      for (int i = 0; i < vectors; ++i)
        if (begin + j < here && numberOf(i) < dim)
          value[j][i] =
              loadL2(partials + int64_t(j) * floats + 4 + numberOf(i));
#pragma unroll
    for (int32_t j = 0; j < together; ++j) {
      if (begin + j >= here)
        break;
      const auto lane = uint32_t(begin + j);
      const float keep = shuffleFrom(weights.keep, lane);
      const float take = shuffleFrom(weights.take, lane);
      sum = multiplyAdd(sum, keep, shuffleFrom(weights.sum, lane));
#pragma unroll
      for (int i = 0; i < vectors; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          acc[i][k] = multiplyAdd(acc[i][k], keep,
                                  floatOfBits(value[j][i].word[k]) * take);
    }
  }

  SLUICE_MEMBER void store() const {
    float *out =
        arg.out + (int64_t(pair.row) * arg.heads + pair.head) * arg.headDim;
#pragma unroll
    for (int i = 0; i < vectors; ++i)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (numberOf(i) + k < arg.headDim)
          out[numberOf(i) + k] = outputOf(acc[i][k], sum);
  }
};

/// Returns whether this is the last of the blocks that share the spans of the
/// row and its 16 heads. What the blocks have written is then visible to all of
/// its threads. The whole block calls it.
template <int dim>
SLUICE_DEVICE bool isLastOfRow(const AttendArguments &arg, int32_t row) {
  if (gridY() == 1) {
    syncThreads();
    return true;
  }
  const int32_t tilesOfHeads = divideUp(arg.heads / arg.kvHeads, warpPairs);
  return isLastBlock(
      arg.tickets + (int64_t(row) * arg.kvHeads + blockZ()) * tilesOfHeads +
          int32_t(blockX()) % tilesOfHeads,
      gridY(),
      reinterpret_cast<uint32_t *>(sharedMemory() + attendPageBytes(dim)));
}

/// Merges the spans of a row and the block's heads, a head in each warp.
template <int dim>
SLUICE_DEVICE void mergeRow(const AttendArguments &arg, int32_t row) {
  const int32_t group = arg.heads / arg.kvHeads;
  const int32_t firstHead = firstHeadOf(arg);
  const int32_t end =
      group < firstHead + warpPairs ? group : firstHead + warpPairs;
  for (int32_t head = firstHead + int32_t(warpIndex()); head < end;
       head += attendWarps(dim))
    PairMerge<dim>(arg, pairOf(arg, row, int32_t(blockZ()) * group + head))
        .run();
}

/// sluice_attend_<kind>_<dim>.
template <CacheKind kind, int dim>
SLUICE_DEVICE void attendSpans(const AttendArguments &arg) {
  launchDependents();
  waitForPrior();
  const int32_t tilesOfHeads = divideUp(arg.heads / arg.kvHeads, warpPairs);
  const int32_t step = int32_t(gridX()) / tilesOfHeads;
  bool hasMerged = false;
  for (int32_t row = int32_t(blockX()) / tilesOfHeads;; row += step) {
    row = nextRow(arg, row, step);
    if (row < 0)
      break;
    attendRow<kind, dim>(arg, row);
    hasMerged = isLastOfRow<dim>(arg, row);
    if (hasMerged)
      mergeRow<dim>(arg, row);
  }
  // There is a tail only if there is no other row.
  if (hasMerged)
    finishRow<attendThreads(dim), false>(arg.tail, gridX() * gridZ());
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
