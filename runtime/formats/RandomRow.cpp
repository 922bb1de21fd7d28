//===- RandomRow.cpp - random weights without a file ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of quantised formats are made directly of random integers, with a
// scale that gives the deviation. Quantising random numbers would take several
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

/// The random words of a row, in order.
class Numbers {
public:
  explicit Numbers(uint64_t key) : key(key) {}

  uint64_t next() { return randomWord(key, drawn++); }

  /// Fills `bytes` with uniformly distributed values.
  void fill(std::span<uint8_t> bytes) {
    for (size_t at = 0; at < bytes.size(); at += 8) {
      uint64_t number = next();
      std::memcpy(bytes.data() + at, &number,
                  std::min<size_t>(8, bytes.size() - at));
    }
  }

private:
  uint64_t key;
  uint64_t drawn = 0;
};

/// Returns the standard deviation of `count` successive whole numbers,
/// uniformly distributed.
float deviationOf(int count) {
  return std::sqrt((float(count) * float(count) - 1) / 12);
}

/// Returns the standard deviation of e4m3's numbers, uniformly distributed.
float deviationOfE4M3() {
  float squares = 0;
  for (int bits = 0; bits < 0x7f; ++bits)
    squares += e4m3ToFloat(uint8_t(bits)) * e4m3ToFloat(uint8_t(bits));
  return std::sqrt(squares / 0x7f);
}

/// The mean of the scales of a block's parts.
constexpr float meanSubScale = 47.5f;

/// Returns the scales of blocks whose quants are `count` whole numbers, whose
/// parts have scales, and whose range is centred on 0.
RandomUnits partedUnits(float deviation, int count) {
  const float scale = deviation / deviationOf(count) / meanSubScale;
  return {0, floatToHalf(scale), floatToHalf(scale * float(count - 1) / 2)};
}

/// Fills a block that has one scale. A quant is one of `count` numbers.
template <typename Block, int count>
void fillSimple(Block &block, Numbers &numbers, const RandomUnits &units) {
  block.d = floatToHalf(randomScale(numbers.next(), units.unit));
  numbers.fill({reinterpret_cast<uint8_t *>(block.qs), sizeof(block.qs)});
  if constexpr (requires { block.qh; })
    numbers.fill(block.qh);
  // Centres the range on 0.
  if constexpr (requires { block.m; })
    block.m = floatToHalf(-halfToFloat(block.d) * float(count - 1) / 2);
}

/// Fills in the scale and minimum of each of the eight parts of a block. Both
/// are the same number, which centres the part's range on 0. Inverse of
/// kSubScale().
void fillSubScales(uint8_t (&scales)[12], Numbers &numbers) {
  std::array<uint8_t, 8> parts;
  numbers.fill(parts);
  for (uint8_t &part : parts)
    part = randomSubScale(part);
  for (size_t i = 0; i < 4; ++i) {
    scales[i] = scales[i + 4] =
        uint8_t((parts[i] & 63) | ((parts[i + 4] >> 4) << 6));
    scales[i + 8] = uint8_t((parts[i + 4] & 15) | ((parts[i + 4] & 15) << 4));
  }
}

/// Fills a block whose parts have scales and minima.
template <typename Block>
void fillParted(Block &block, Numbers &numbers, const RandomUnits &units) {
  block.d = units.d;
  block.dmin = units.dmin;
  fillSubScales(block.scales, numbers);
  numbers.fill(block.qs);
  if constexpr (requires { block.qh; })
    numbers.fill(block.qh);
}

void fillQ6K(BlockQ6K &block, Numbers &numbers, const RandomUnits &units) {
  block.d = units.d;
  numbers.fill(block.ql);
  numbers.fill(block.qh);
  numbers.fill({reinterpret_cast<uint8_t *>(block.scales), 16});
  for (int8_t &scale : block.scales)
    scale = randomSignedScale(uint8_t(scale));
}

void fillE4M3(BlockE4M3 &block, Numbers &numbers, const RandomUnits &units) {
  block.d = randomScale(numbers.next(), units.unit);
  numbers.fill(block.qs);
  for (uint8_t &number : block.qs)
    number = randomE4M3(number);
}

/// Writes whole blocks with one of the functions above.
template <typename Block>
void writeBlocks(void (*fill)(Block &, Numbers &, const RandomUnits &),
                 uint64_t key, const RandomUnits &units, void *to,
                 int64_t blocks) {
  Numbers numbers(key);
  auto *at = static_cast<uint8_t *>(to);
  for (int64_t i = 0; i < blocks; ++i, at += sizeof(Block)) {
    Block block;
    fill(block, numbers, units);
    std::memcpy(at, &block, sizeof(Block));
  }
}

/// Writes numbers about the mean, four from each random word.
void writePlain(Format format, uint64_t key, float mean,
                const RandomUnits &units, void *to, int64_t elements) {
  constexpr int64_t piece = 256;
  const auto bytes = static_cast<size_t>(formatInfo(format).blockBytes);
  Numbers numbers(key);
  std::array<int16_t, piece> random;
  std::array<float, piece> values;
  for (int64_t first = 0; first < elements; first += piece) {
    const int64_t count = std::min(piece, elements - first);
    numbers.fill({reinterpret_cast<uint8_t *>(random.data()), sizeof(random)});
    for (size_t i = 0; i < size_t(count); ++i)
      values[i] = randomElement(random[i], mean, units.unit);
    quantizeRow(format, values.data(),
                static_cast<uint8_t *>(to) + size_t(first) * bytes, count);
  }
}

} // namespace

RandomUnits sluice::randomUnits(Format format, const RandomSpread &spread) {
  const float deviation = spread.deviation;
  static const float unitOfE4M3 = deviationOfE4M3();
  switch (format) {
  case Format::Q8_0:
    return {deviation / deviationOf(256)};
  case Format::Q4_0:
  case Format::Q4_1:
    return {deviation / deviationOf(16)};
  case Format::Q5_0:
  case Format::Q5_1:
    return {deviation / deviationOf(32)};
  case Format::Q4_K:
    return partedUnits(deviation, 16);
  case Format::Q5_K:
    return partedUnits(deviation, 32);
  case Format::Q6_K:
    return partedUnits(deviation, 64);
  case Format::E4M3:
    return {deviation / unitOfE4M3};
  default:
    // Numbers that are uniform from -1 to 1 have a deviation of the square root
    // of 1/3.
    return {deviation * std::sqrt(3.0f) / 32768};
  }
}

void sluice::writeRandomRow(Format format, uint64_t key,
                            const RandomSpread &spread, void *to,
                            int64_t elements) {
  const int64_t each = formatInfo(format).blockElements;
  assert(elements % each == 0 && "rows are whole blocks");
  const RandomUnits units = randomUnits(format, spread);
  auto write = [&](auto fill) {
    writeBlocks(fill, key, units, to, elements / each);
  };
  switch (format) {
  case Format::Q8_0:
    return write(fillSimple<BlockQ80, 256>);
  case Format::Q4_0:
    return write(fillSimple<BlockQ40, 16>);
  case Format::Q4_1:
    return write(fillSimple<BlockQ41, 16>);
  case Format::Q5_0:
    return write(fillSimple<BlockQ50, 32>);
  case Format::Q5_1:
    return write(fillSimple<BlockQ51, 32>);
  case Format::Q4_K:
    return write(fillParted<BlockQ4K>);
  case Format::Q5_K:
    return write(fillParted<BlockQ5K>);
  case Format::Q6_K:
    return write(fillQ6K);
  case Format::E4M3:
    return write(fillE4M3);
  default:
    return writePlain(format, key, spread.mean, units, to, elements);
  }
}
