//===- RandomRow.cpp - weights without a file -----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of quantised formats are made as they are stored, of random integers
// under a scale that gives the deviation; quantising numbers would take several
// times as long.
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/RandomRow.h"

#include "runtime/formats/Blocks.h"
#include "runtime/formats/Float8.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <span>

using namespace sluice;

namespace {

/// splitmix64: a counter, mixed.
class Numbers {
public:
  explicit Numbers(uint64_t key) : state(key) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// Bytes, of which each value is as likely.
  void fill(std::span<uint8_t> bytes) {
    for (size_t at = 0; at < bytes.size(); at += 8) {
      uint64_t number = next();
      std::memcpy(bytes.data() + at, &number,
                  std::min<size_t>(8, bytes.size() - at));
    }
  }

private:
  uint64_t state;
};

/// The standard deviation of whole numbers in a range of so many.
float deviationOf(int count) {
  return std::sqrt((float(count) * float(count) - 1) / 12);
}

/// A scale between half and one and a half of the one that gives the deviation,
/// and of either sign, so that ranges that are not even about 0 are so on the
/// whole.
float scaleOf(Numbers &numbers, float usual) {
  const uint64_t bits = numbers.next();
  const float size = 0.5f + float(bits >> 40) / float(1 << 24);
  return (bits & 1 ? size : -size) * usual;
}

/// Fills a block of one scale. `count`: of the numbers that a quant can be.
template <typename Block>
void fillSimple(Block &block, Numbers &numbers, float deviation, int count) {
  block.d = floatToHalf(scaleOf(numbers, deviation / deviationOf(count)));
  numbers.fill({reinterpret_cast<uint8_t *>(block.qs), sizeof(block.qs)});
  if constexpr (requires { block.qh; })
    numbers.fill(block.qh);
  // The middle of the range is 0.
  if constexpr (requires { block.m; })
    block.m = floatToHalf(-halfToFloat(block.d) * float(count - 1) / 2);
}

/// Scale and minimum of each of the eight parts of a block: the same number, so
/// that the middle of its range is 0. The opposite of kSubScale().
void fillSubScales(uint8_t (&scales)[12], Numbers &numbers) {
  std::array<uint8_t, 8> parts;
  numbers.fill(parts);
  for (uint8_t &part : parts)
    part = uint8_t(32 + part % 32);
  for (size_t i = 0; i < 4; ++i) {
    scales[i] = scales[i + 4] =
        uint8_t((parts[i] & 63) | ((parts[i + 4] >> 4) << 6));
    scales[i + 8] = uint8_t((parts[i + 4] & 15) | ((parts[i + 4] & 15) << 4));
  }
}

/// The mean of the parts' scales.
constexpr float meanSubScale = 47.5f;

/// The same of one with scales and minima of its parts.
template <typename Block>
void fillParted(Block &block, Numbers &numbers, float deviation, int count) {
  float scale = deviation / deviationOf(count) / meanSubScale;
  block.d = floatToHalf(scale);
  block.dmin = floatToHalf(scale * float(count - 1) / 2);
  fillSubScales(block.scales, numbers);
  numbers.fill(block.qs);
  if constexpr (requires { block.qh; })
    numbers.fill(block.qh);
}

void fillQ6K(BlockQ6K &block, Numbers &numbers, float deviation, int count) {
  block.d = floatToHalf(deviation / deviationOf(count) / meanSubScale);
  numbers.fill(block.ql);
  numbers.fill(block.qh);
  numbers.fill({reinterpret_cast<uint8_t *>(block.scales), 16});
  for (int8_t &scale : block.scales)
    scale = int8_t(scale < 0 ? -(32 + (scale & 31)) : 32 + (scale & 31));
}

/// The deviation of e4m3's numbers, of which each is as likely.
float deviationOfE4M3() {
  float squares = 0;
  for (int bits = 0; bits < 0x7f; ++bits)
    squares += e4m3ToFloat(uint8_t(bits)) * e4m3ToFloat(uint8_t(bits));
  return std::sqrt(squares / 0x7f);
}

void fillE4M3(BlockE4M3 &block, Numbers &numbers, float deviation, int) {
  static const float unit = deviationOfE4M3();
  block.d = scaleOf(numbers, deviation / unit);
  numbers.fill(block.qs);
  for (uint8_t &number : block.qs)
    if ((number & 0x7f) == 0x7f)
      number &= 0x80;
}

/// Whole blocks, made by one of these functions.
template <typename Block>
void writeBlocks(void (*fill)(Block &, Numbers &, float, int), int count,
                 Numbers &numbers, float deviation, void *to, int64_t blocks) {
  auto *at = static_cast<uint8_t *>(to);
  for (int64_t i = 0; i < blocks; ++i, at += sizeof(Block)) {
    Block block;
    fill(block, numbers, deviation, count);
    std::memcpy(at, &block, sizeof(Block));
  }
}

/// Numbers in [-1, 1), four of them from each random one.
void writePlain(Format format, Numbers &numbers, const RandomSpread &spread,
                void *to, int64_t elements) {
  constexpr int64_t piece = 256;
  const auto bytes = static_cast<size_t>(formatInfo(format).blockBytes);
  const float reach = spread.deviation * std::sqrt(3.0f) / 32768;
  std::array<int16_t, piece> random;
  std::array<float, piece> values;
  for (int64_t first = 0; first < elements; first += piece) {
    int64_t count = std::min(piece, elements - first);
    numbers.fill({reinterpret_cast<uint8_t *>(random.data()), sizeof(random)});
    for (size_t i = 0; i < size_t(count); ++i)
      values[i] = spread.mean + float(random[i]) * reach;
    quantizeRow(format, values.data(),
                static_cast<uint8_t *>(to) + size_t(first) * bytes, count);
  }
}

} // namespace

uint64_t sluice::randomKey(uint64_t key, uint64_t number) {
  return Numbers(key ^ Numbers(number).next()).next();
}

void sluice::writeRandomRow(Format format, uint64_t key,
                            const RandomSpread &spread, void *to,
                            int64_t elements) {
  Numbers numbers(key);
  const int64_t each = formatInfo(format).blockElements;
  assert(elements % each == 0 && "rows are whole blocks");
  auto write = [&](auto fill, int count) {
    writeBlocks(fill, count, numbers, spread.deviation, to, elements / each);
  };
  switch (format) {
  case Format::Q8_0:
    return write(fillSimple<BlockQ80>, 256);
  case Format::Q4_0:
    return write(fillSimple<BlockQ40>, 16);
  case Format::Q4_1:
    return write(fillSimple<BlockQ41>, 16);
  case Format::Q5_0:
    return write(fillSimple<BlockQ50>, 32);
  case Format::Q5_1:
    return write(fillSimple<BlockQ51>, 32);
  case Format::Q4_K:
    return write(fillParted<BlockQ4K>, 16);
  case Format::Q5_K:
    return write(fillParted<BlockQ5K>, 32);
  case Format::Q6_K:
    return write(fillQ6K, 64);
  case Format::E4M3:
    return write(fillE4M3, 256);
  default:
    return writePlain(format, numbers, spread, to, elements);
  }
}
