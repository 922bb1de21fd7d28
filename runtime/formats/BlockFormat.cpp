//===- BlockFormat.cpp - names and sizes of the formats -------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/BlockFormat.h"
#include "runtime/formats/Blocks.h"
#include "runtime/formats/Float8.h"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstring>

using namespace sluice;

static constexpr FormatInfo infos[formatCount] = {
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"bf16", 1, 2},
    {"q8_0", 32, sizeof(BlockQ80)},
    {"q4_0", 32, sizeof(BlockQ40)},
    {"q4_1", 32, sizeof(BlockQ41)},
    {"q5_0", 32, sizeof(BlockQ50)},
    {"q5_1", 32, sizeof(BlockQ51)},
    {"q4_k", 256, sizeof(BlockQ4K)},
    {"q5_k", 256, sizeof(BlockQ5K)},
    {"q6_k", 256, sizeof(BlockQ6K)},
    {"e4m3", 128, sizeof(BlockE4M3)},
};

const FormatInfo &sluice::formatInfo(Format format) {
  assert(int(format) < formatCount);
  return infos[int(format)];
}

std::optional<Format> sluice::parseFormat(std::string_view name) {
  for (int i = 0; i < formatCount; ++i)
    if (infos[i].name == name)
      return Format(i);
  return std::nullopt;
}

std::optional<uint64_t> sluice::rowBytes(Format format, int64_t elements) {
  const FormatInfo &info = formatInfo(format);
  if (elements < 0 || elements % info.blockElements != 0)
    return std::nullopt;
  uint64_t bytes;
  if (__builtin_mul_overflow(uint64_t(elements / info.blockElements),
                             uint64_t(info.blockBytes), &bytes))
    return std::nullopt;
  return bytes;
}

/// Returns whether the half or bfloat at `p` is finite: not all bits of the
/// exponent, which `mask` selects, are set.
static bool isFinite16(const uint8_t *p, uint16_t mask) {
  uint16_t bits;
  std::memcpy(&bits, p, sizeof(bits));
  return (bits & mask) != mask;
}

/// Returns whether `count` numbers, one in every `stride` bytes, are finite.
template <int64_t stride>
static bool allFinite16(const uint8_t *p, int64_t count, uint16_t mask) {
  bool finite = true;
  for (int64_t i = 0; i < count; ++i)
    finite &= isFinite16(p + i * stride, mask);
  return finite;
}

static bool allFinite32(const uint8_t *p, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, p + i * 4, sizeof(bits));
    finite &= (bits & 0x7f800000) != 0x7f800000;
  }
  return finite;
}

/// Returns whether the block has no NaN, and a scale with which all e4m3
/// numbers are finite.
static bool isFinite(const BlockE4M3 &block) {
  bool finite = std::isfinite(block.d * largestE4M3);
  for (uint8_t number : block.qs)
    finite &= (number & 0x7f) != 0x7f;
  return finite;
}

// The bits of an exponent; all of them are set in a number that is not finite.
static constexpr uint16_t halfExponent = 0x7c00, bfloatExponent = 0x7f80;

/// Returns whether the scale and minimum at the start of each block are finite.
template <typename Block>
static bool allFinitePairs(const uint8_t *p, int64_t blocks) {
  return allFinite16<sizeof(Block)>(p, blocks, halfExponent) &&
         allFinite16<sizeof(Block)>(p + 2, blocks, halfExponent);
}

bool sluice::rowIsFinite(Format format, const void *src, int64_t elements) {
  const auto *p = static_cast<const uint8_t *>(src);
  int64_t blocks = elements / formatInfo(format).blockElements;
  switch (format) {
  case Format::F32:
    return allFinite32(p, elements);
  case Format::F16:
    return allFinite16<2>(p, elements, halfExponent);
  case Format::BF16:
    return allFinite16<2>(p, elements, bfloatExponent);
  case Format::Q8_0:
    return allFinite16<sizeof(BlockQ80)>(p, blocks, halfExponent);
  case Format::Q4_0:
    return allFinite16<sizeof(BlockQ40)>(p, blocks, halfExponent);
  case Format::Q5_0:
    return allFinite16<sizeof(BlockQ50)>(p, blocks, halfExponent);
  case Format::Q4_1:
    return allFinitePairs<BlockQ41>(p, blocks);
  case Format::Q5_1:
    return allFinitePairs<BlockQ51>(p, blocks);
  case Format::Q4_K:
    return allFinitePairs<BlockQ4K>(p, blocks);
  case Format::Q5_K:
    return allFinitePairs<BlockQ5K>(p, blocks);
  case Format::Q6_K:
    return allFinite16<sizeof(BlockQ6K)>(p + offsetof(BlockQ6K, d), blocks,
                                         halfExponent);
  case Format::E4M3: {
    bool finite = true;
    for (int64_t i = 0; i < blocks; ++i) {
      BlockE4M3 block;
      std::memcpy(&block, p + i * int64_t(sizeof(block)), sizeof(block));
      finite &= isFinite(block);
    }
    return finite;
  }
  }
  return false;
}
