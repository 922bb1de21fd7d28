//===- Append.cu - stores keys and values in the cache, copies pages ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/Math.cuh"

using namespace sluice::cuda;

namespace {

SLUICE_DEVICE bool isFinite(float x) {
  return (bitsOfFloat(x) & 0x7f800000u) != 0x7f800000u;
}

SLUICE_DEVICE float clamped(float x, float largest) {
  return x > largest ? largest : x < -largest ? -largest : x;
}

/// A head of a row as it is in memory, or rotated.
class Head {
public:
  SLUICE_MEMBER explicit Head(const float *x) : x(x) {}
  SLUICE_MEMBER Head(const Rotation &rotation, int64_t head, int32_t headDim,
                     int32_t position)
      : x(rotation.x + head * headDim),
        angles(rotation.table + int64_t(position) * 2 * rotation.pairs),
        pairs(rotation.pairs), isHalf(rotation.isHalf) {}

  SLUICE_MEMBER float operator[](int32_t d) const {
    if (d >= 2 * pairs)
      return x[d];
    const int32_t pair = isHalf ? d % pairs : d / 2;
    const bool isFirst = isHalf ? d < pairs : d % 2 == 0;
    const float x0 = x[isHalf ? pair : 2 * pair];
    const float x1 = x[isHalf ? pair + pairs : 2 * pair + 1];
    const float cosine = angles[pair], sine = angles[pairs + pair];
    return isFirst ? x0 * cosine - x1 * sine : x1 * cosine + x0 * sine;
  }

private:
  const float *x;
  const float *angles = nullptr;
  int32_t pairs = 0;
  bool isHalf = false;
};

/// Returns whether all numbers of a token's key or value are finite; the result
/// is the same in every lane.
SLUICE_DEVICE bool allFinite(const Head &x, int32_t headDim) {
  bool finite = true;
  for (int32_t d = int32_t(laneIndex()); d < headDim; d += 32)
    finite = finite && isFinite(x[d]);
  return voteOf(finite) == 0xffffffffu;
}

/// Writes a rotated head of a row.
SLUICE_DEVICE void store(const Head &x, int32_t headDim, float *to) {
  for (int32_t d = int32_t(laneIndex()); d < headDim; d += 32)
    to[d] = x[d];
}

/// Returns the power of two of an e4m3 key or value. The largest magnitude
/// divided by it is in [2^7, 2^8). The largest power is such that its product
/// with stored numbers is finite: magnitudes of 2^127 and more give [2^8, 2^9)
/// and become 448.
SLUICE_DEVICE float tokenScale(const Head &x, int32_t headDim) {
  uint32_t largest = 0;
  for (int32_t d = int32_t(laneIndex()); d < headDim; d += 32) {
    uint32_t size = isFinite(x[d]) ? bitsOfFloat(x[d]) & 0x7fffffffu : 0;
    largest = size > largest ? size : largest;
  }
#pragma unroll
  for (uint32_t mask = 16; mask > 0; mask /= 2) {
    uint32_t other = shuffleXor(largest, mask);
    largest = other > largest ? other : largest;
  }
  constexpr int32_t target = 7, minExponent = -100, maxExponent = 119;
  int32_t exponent = int32_t(largest >> 23) - 127 - target;
  exponent = exponent > minExponent ? exponent : minExponent;
  return powerOfTwo(exponent < maxExponent ? exponent : maxExponent);
}

/// Stores a token's numbers at `to`; those that are not finite become zeros.
SLUICE_DEVICE void storeToken(CacheKind kind, const Head &x, int32_t headDim,
                              uint8_t *to, float scale) {
  constexpr float largestHalf = 65504.0f, largestBfloat = 3.38953139e38f;
  // Exact: both are powers of two.
  float inverse = 1.0f / scale;
  for (int32_t d = int32_t(laneIndex()); d < headDim; d += 32) {
    float value = isFinite(x[d]) ? x[d] : 0.0f;
    auto *halves = reinterpret_cast<uint16_t *>(to);
    if (kind == CacheKind::F16)
      halves[d] = floatToHalf(clamped(value, largestHalf));
    else if (kind == CacheKind::BF16)
      halves[d] = floatToBfloat(clamped(value, largestBfloat));
    else
      to[d] = floatToE4M3(value * inverse);
  }
}

SLUICE_DEVICE void breakKey(CacheKind kind, uint8_t *key, float *keyScale) {
  if (kind == CacheKind::E4M3)
    *keyScale = floatOfBits(0x7fc00000u);
  else
    *reinterpret_cast<uint16_t *>(key) =
        kind == CacheKind::F16 ? 0x7e00 : 0x7fc0;
}

/// Returns the key of a row and head, which is number `number` of all.
SLUICE_DEVICE Head keyOf(const AppendArguments &arg, int64_t number,
                         int32_t position) {
  if (arg.keys.x)
    return Head(arg.keys, number, arg.headDim, position);
  return Head(arg.k + number * arg.headDim);
}

SLUICE_DEVICE void append(const AppendArguments &arg, int32_t row,
                          int32_t sequence, int32_t head) {
  int32_t position = arg.rows.positions[row];
  int32_t slot = position % pageTokens;
  int32_t page = arg.rows.pages[int64_t(sequence) * arg.rows.pagesPerSequence +
                                position / pageTokens];
  int32_t dim = cacheDim(arg.headDim);
  int32_t half = pageHalfBytes(arg.kind, dim);
  int32_t tokenBytes = dim * cacheNumberBytes(arg.kind);
  uint8_t *block = arg.cache + (int64_t(page) * arg.kvHeads + head) *
                                   pageHeadBytes(arg.kind, dim);
  const int64_t number = int64_t(row) * arg.kvHeads + head;
  const Head k = keyOf(arg, number, position);
  const Head v(arg.v + number * arg.headDim);
  float kScale = 1, vScale = 1;
  auto *scales = reinterpret_cast<float *>(block + 2 * half);
  if (arg.kind == CacheKind::E4M3) {
    kScale = tokenScale(k, arg.headDim);
    vScale = tokenScale(v, arg.headDim);
    if (laneIndex() == 0) {
      scales[slot] = kScale;
      scales[pageTokens + slot] = vScale;
    }
  }
  uint8_t *key = block + slot * tokenBytes;
  storeToken(arg.kind, k, arg.headDim, key, kScale);
  storeToken(arg.kind, v, arg.headDim, key + half, vScale);
  bool finite = allFinite(k, arg.headDim) && allFinite(v, arg.headDim);
  // Lane 0 has written that number itself.
  if (!finite && laneIndex() == 0)
    breakKey(arg.kind, key, scales + slot);
}

} // namespace

/// A thread copies the same bytes of each page, and no other thread copies
/// these. So it can go on to the next copy without waiting.
extern "C" SLUICE_KERNEL(copyThreads)
    sluice_copy_pages(const PageCopyArguments arguments) {
  launchDependents();
  waitForPrior();
  LayerPages layer = arguments.layers[blockY()];
  int32_t count = *arguments.copyCount;
  int64_t step = int64_t(gridX()) * copyThreads * 16;
  for (int64_t at = (int64_t(blockX()) * copyThreads + threadIndex()) * 16;
       at < layer.pageBytes; at += step)
    for (int32_t i = 0; i < count; ++i)
      store16(
          layer.cache + arguments.copies[2 * i + 1] * layer.pageBytes + at,
          load16(layer.cache + arguments.copies[2 * i] * layer.pageBytes + at));
}

extern "C" SLUICE_KERNEL(appendThreads)
    sluice_append_cache(const AppendArguments arguments) {
  launchDependents();
  waitForPrior();
  constexpr int32_t warps = appendThreads / 32;
  const int32_t kvHeads = arguments.kvHeads, headDim = arguments.headDim;
  // Up to 2^15 rows of 2^17 heads fit without a sign.
  const uint32_t heads = uint32_t(kvHeads + arguments.queries.heads);
  const uint32_t first = blockX() * warps + warpIndex();
  const auto row = int32_t(first / heads), head = int32_t(first % heads);
  if (row < *arguments.rows.rowCount) {
    const int32_t position = arguments.rows.positions[row];
    if (head < kvHeads) {
      append(arguments, row, arguments.rows.sequences[row], head);
      const int64_t key = int64_t(row) * kvHeads + head;
      if (arguments.keys.x)
        store(keyOf(arguments, key, position), headDim,
              arguments.keys.y + key * headDim);
    } else {
      const int64_t query =
          int64_t(row) * arguments.queries.heads + head - kvHeads;
      store(Head(arguments.queries, query, headDim, position), headDim,
            arguments.queries.y + query * headDim);
    }
  }
  const int32_t mirrors = arguments.mirrorCount ? *arguments.mirrorCount : 0;
  for (int64_t i = first; i < int64_t(mirrors) * kvHeads;
       i += int64_t(gridX()) * warps)
    append(arguments, arguments.mirrorRows[i / kvHeads],
           arguments.mirrorSequences[i / kvHeads], int32_t(i % kvHeads));
}
