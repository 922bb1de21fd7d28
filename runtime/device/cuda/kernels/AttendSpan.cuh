//===- AttendSpan.cuh - attention of 16 pairs over spans of pages ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both ways of attention share this class, which fixes the order of all sums. A
// warp has 16 pairs of a row and a query head. They are the rows of its
// products: of queries with the keys of a page, then of probabilities with its
// values. A lane has the pairs g and g + 8.
//
// The `sharing` warps that read a page together copy its keys and values to
// shared memory. The next page's keys are copied while this page's values are
// used, and the next page's values while its keys are used.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTENDSPAN_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTENDSPAN_CUH

#include "runtime/device/cuda/kernels/CacheABI.h"
#include "runtime/device/cuda/kernels/Math.cuh"

namespace sluice::cuda {

/// One pair of a row and a head, and the positions that it sees.
struct Pair {
  int32_t row = 0;
  int32_t head = 0;
  int32_t first = 0, last = -1; ///< first and last position; none by default
};

SLUICE_DEVICE Pair pairOf(const AttendArguments &arg, int32_t row,
                          int32_t head) {
  Pair pair;
  pair.row = row;
  pair.head = head;
  pair.last = arg.rows.positions[row];
  if (arg.window > 0 && pair.last >= arg.window)
    pair.first = pair.last - arg.window + 1;
  return pair;
}

/// The factors of two partial sums when they are added, and the maximum that
/// the total is relative to.
struct SpanMerge {
  float maximum, keep, take;
  SLUICE_MEMBER SpanMerge(float mine, float other)
      : maximum(other > mine ? other : mine),
        keep(mine == maximum ? 1.0f : exponential(mine - maximum)),
        take(other == maximum ? 1.0f : exponential(other - maximum)) {}
  SLUICE_MEMBER float of(float mine, float other) const {
    return multiplyAdd(mine, keep, other * take);
  }
};

template <CacheKind kind, int dim, int sharing> class SpanAttention {
  static constexpr int rowBytes = sharedRowBytes(dim);
  static constexpr int columns = dim / 8;
  static constexpr int threads = 32 * sharing;

public:
  float maximum[2]; ///< of pairs g and g + 8, in this span
  float sum[2];     ///< the part of this lane
  float acc[columns][4];

  /// `page` is shared memory for the keys and values of the warps that share
  /// them; `queries` is that of this warp, 16 rows.
  SLUICE_MEMBER SpanAttention(const AttendArguments &arguments, int32_t kvHead,
                              int32_t sequence, uint8_t *page, uint8_t *queries)
      : arg(arguments), keys(page), values(page + pageTokens * rowBytes),
        queries(queries), lane(laneIndex()),
        member(sharing == 1 ? laneIndex() : threadIndex()),
        pageStride(int64_t(arguments.kvHeads) * pageHeadBytes(kind, dim)),
        block(arguments.cache + int64_t(kvHead) * pageHeadBytes(kind, dim)),
        pages(arguments.rows.pages +
              int64_t(sequence) * arguments.rows.pagesPerSequence) {}

  /// Writes the query of pair `index` to shared memory. The whole warp calls it
  /// for each of the 16 pairs. Pairs that see nothing get zeros.
  SLUICE_MEMBER void setPair(int index, const Pair &pair) {
    bool exists = pair.last >= 0;
    const float *q =
        arg.q + (int64_t(pair.row) * arg.heads + pair.head) * arg.headDim;
    float value[dim / 32];
#pragma unroll
    for (int i = 0; i < dim / 32; ++i) {
      int d = int(lane) + 32 * i;
      value[i] = exists && d < arg.headDim ? q[d] : 0.0f;
    }
    int32_t exponent = 0;
    if constexpr (kind == CacheKind::F16)
      exponent = queryExponent(value);
    float inverse = powerOfTwo(-exponent);
    auto *to = reinterpret_cast<uint16_t *>(queries + index * rowBytes);
#pragma unroll
    for (int i = 0; i < dim / 32; ++i)
      to[int(lane) + 32 * i] = kind == CacheKind::F16
                                   ? floatToHalf(value[i] * inverse)
                                   : floatToBfloat(value[i]);
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (int(lane / 4) + 8 * half == index) {
        own[half] = pair;
        scoreFactor[half] = powerOfTwo(exponent) * arg.scale;
        slope[half] =
            exists && arg.alibiSlopes ? arg.alibiSlopes[pair.head] : 0.0f;
      }
  }

  /// Begins with the pages firstPage .. lastPage of the sequence, for all of
  /// which add() will be called.
  SLUICE_MEMBER void begin(int32_t firstPage, int32_t lastPage) {
    endPage = lastPage;
    fill(keys, firstPage, 0);
    copyAsyncCommit();
    fill(values, firstPage, 1);
    copyAsyncCommit();
  }

  SLUICE_MEMBER void beginSpan() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      maximum[half] = minusInfinity();
      sum[half] = 0;
    }
#pragma unroll
    for (int n = 0; n < columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        acc[n][i] = 0;
  }

  /// Adds a page. Pages are added in ascending order without a gap.
  SLUICE_MEMBER void add(int32_t page) {
    copyAsyncWait<1>();
    sync();
    float score[4][4] = {};
    multiplyKeys(score);
    sync();
    fill(keys, page + 1, 0);
    copyAsyncCommit();
    uint32_t probability[4][2];
    softmax(score, page * pageTokens, probability);
    copyAsyncWait<1>();
    sync();
    multiplyValues(probability);
    sync();
    fill(values, page + 1, 1);
    copyAsyncCommit();
  }

  /// Returns the sum over all lanes that have a part of it. The whole warp
  /// calls it.
  SLUICE_MEMBER float wholeSum(int half) const {
    float whole = sum[half] + shuffleXor(sum[half], 1);
    return whole + shuffleXor(whole, 2);
  }

  SLUICE_MEMBER void end() { copyAsyncWait<0>(); }

  SLUICE_MEMBER const Pair &pair(int half) const { return own[half]; }

private:
  const AttendArguments &arg;
  uint8_t *keys, *values, *queries;
  uint32_t lane;
  uint32_t member; ///< this thread's number among those that share a page
  int64_t pageStride;
  const uint8_t *block; ///< the block of the kv head in page 0
  const int32_t *pages;
  int32_t endPage = -1;
  Pair own[2];
  float scoreFactor[2];
  float slope[2];

  SLUICE_MEMBER static void sync() {
    if constexpr (sharing == 1)
      syncWarp();
    else
      syncThreads();
  }

  /// Returns the exponent of the power of two by which a query is divided to
  /// fit f16, as for operand rows.
  SLUICE_MEMBER static int32_t queryExponent(const float (&q)[dim / 32]) {
    uint32_t largest = 0;
#pragma unroll
    for (float value : q) {
      uint32_t size = bitsOfFloat(value) & 0x7fffffffu;
      largest = size > largest ? size : largest;
    }
#pragma unroll
    for (uint32_t mask = 16; mask > 0; mask /= 2) {
      uint32_t other = shuffleXor(largest, mask);
      largest = other > largest ? other : largest;
    }
    int32_t exponent = int32_t(largest >> 23) - 127 - 14;
    if (exponent == 128 - 14)
      return 0;
    return exponent > -100 ? exponent : -100;
  }

  /// Copies the keys (half 0) or values (1) of a page to shared memory, as
  /// 16-bit numbers.
  SLUICE_MEMBER void fill(uint8_t *to, int32_t page, int half) {
    if (page > endPage)
      return;
    const uint8_t *from = block + pages[page] * pageStride;
    const auto *scales = reinterpret_cast<const float *>(
        from + 2 * pageHalfBytes(kind, dim) + half * pageTokens * 4);
    from += half * pageHalfBytes(kind, dim);
    // Pieces of a token.
    constexpr int pieces = dim * cacheNumberBytes(kind) / 16;
    for (int i = int(member); i < pageTokens * pieces; i += threads) {
      int token = i / pieces, piece = i % pieces;
      uint8_t *row = to + token * rowBytes;
      if constexpr (kind == CacheKind::E4M3)
        unpack(row + piece * 32, load16(from + i * 16), scales[token]);
      else
        copyAsync16(row + piece * 16, from + i * 16);
    }
  }

  /// Converts sixteen e4m3 numbers, times a power of two, to bf16, which is
  /// exact.
  SLUICE_MEMBER static void unpack(uint8_t *to, const Vector4 &bytes,
                                   float scale) {
    float factor = scale * 256.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      Vector4 numbers;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        uint32_t two = bytes.word[2 * i + j / 2] >> (16 * (j % 2));
        numbers.word[j] = bfloatOf(two & 0xff, factor) >> 16 |
                          (bfloatOf(two >> 8 & 0xff, factor) & 0xffff0000u);
      }
      store16(to + 16 * i, numbers);
    }
  }
  SLUICE_MEMBER static uint32_t bfloatOf(uint32_t byte, float factor) {
    uint32_t half = (byte & 0x80) << 8 | (byte & 0x7f) << 7;
    return bitsOfFloat(halfToFloat(uint16_t(half)) * factor);
  }

  SLUICE_MEMBER static void multiply(float (&d)[4], const uint32_t (&a)[4],
                                     uint32_t b0, uint32_t b1) {
    if constexpr (kind == CacheKind::F16)
      multiplyF16(d, a, b0, b1);
    else
      multiplyBF16(d, a, b0, b1);
  }

  /// score[j] += queries times the keys of tokens 8j .. 8j + 7.
  SLUICE_MEMBER void multiplyKeys(float (&score)[4][4]) const {
    const uint8_t *query = queries + lane % 16 * rowBytes + lane / 16 * 16;
    const uint8_t *key =
        keys + (lane / 16 * 8 + lane % 8) * rowBytes + lane / 8 % 2 * 16;
#pragma unroll 4
    for (int d = 0; d < dim; d += 16) {
      uint32_t a[4], b[4];
      loadMatrix4(a, query + 2 * d);
#pragma unroll
      for (int j = 0; j < 4; j += 2) {
        loadMatrix4(b, key + j * 8 * rowBytes + 2 * d);
        multiply(score[j], a, b[0], b[1]);
        multiply(score[j + 1], a, b[2], b[3]);
      }
    }
  }

  /// Returns the score of a token as the model defines it.
  SLUICE_MEMBER float shaped(float product, int half, int32_t token) const {
    float score = product * scoreFactor[half];
    if (arg.softcap != 0)
      score = arg.softcap * hyperbolicTangent(score / arg.softcap);
    if (arg.alibiSlopes)
      score = multiplyAdd(slope[half], float(token - own[half].last), score);
    return score;
  }

  /// Turns scores into probabilities relative to the maximum so far, of the
  /// lane's tokens 8j + 2t and 8j + 2t + 1: probability[j][pair].
  SLUICE_MEMBER void softmax(float (&score)[4][4], int32_t firstToken,
                             uint32_t (&probability)[4][2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float best = maximum[half];
      bool visible[4][2];
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          int32_t token = firstToken + 8 * j + int32_t(lane % 4) * 2 + i;
          float &s = score[j][2 * half + i];
          visible[j][i] = token >= own[half].first && token <= own[half].last;
          s = shaped(s, half, token);
          best = visible[j][i] && s > best ? s : best;
        }
#pragma unroll
      for (uint32_t mask = 1; mask <= 2; mask *= 2) {
        float other = shuffleXor(best, mask);
        best = other > best ? other : best;
      }
      float factor =
          best == maximum[half] ? 1.0f : exponential(maximum[half] - best);
      maximum[half] = best;
      sum[half] = sum[half] * factor;
#pragma unroll
      for (int n = 0; n < columns; ++n) {
        acc[n][2 * half] = acc[n][2 * half] * factor;
        acc[n][2 * half + 1] = acc[n][2 * half + 1] * factor;
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float p[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          p[i] =
              visible[j][i] ? exponential(score[j][2 * half + i] - best) : 0.0f;
          sum[half] = sum[half] + p[i];
        }
        probability[j][half] = kind == CacheKind::F16 ? packHalves(p[0], p[1])
                                                      : packBfloats(p[0], p[1]);
      }
    }
  }

  /// acc += probabilities times values.
  SLUICE_MEMBER void multiplyValues(const uint32_t (&probability)[4][2]) {
    const uint8_t *value = values + lane % 16 * rowBytes + lane / 16 * 16;
#pragma unroll
    for (int tokens = 0; tokens < 2; ++tokens) {
      uint32_t a[4] = {probability[2 * tokens][0], probability[2 * tokens][1],
                       probability[2 * tokens + 1][0],
                       probability[2 * tokens + 1][1]};
#pragma unroll
      for (int n = 0; n < columns; n += 2) {
        uint32_t b[4];
        loadMatrix4Transposed(b, value + tokens * 16 * rowBytes + n * 16);
        multiply(acc[n], a, b[0], b[1]);
        multiply(acc[n + 1], a, b[2], b[3]);
      }
    }
  }
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_ATTENDSPAN_CUH
