//===- Blocks.h - the byte layout of quantised blocks ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks of GGUF files and of e4m3, field by field, little endian, without
// padding; and the decoding of the packed 6-bit scales of k-quants. Copy a
// block out of the file with std::memcpy before you read its fields.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_BLOCKS_H
#define SLUICE_RUNTIME_FORMATS_BLOCKS_H

#include <cstdint>

namespace sluice {

// In every q4_* and q5_* block of 32, byte i of qs holds element i in its low
// and element i + 16 in its high nibble; bit i of qh is bit 4 of element i.

struct BlockQ80 {
  uint16_t d;
  int8_t qs[32];
};

struct BlockQ40 {
  uint16_t d;
  uint8_t qs[16];
};

struct BlockQ41 {
  uint16_t d, m;
  uint8_t qs[16];
};

struct BlockQ50 {
  uint16_t d;
  uint8_t qh[4];
  uint8_t qs[16];
};

struct BlockQ51 {
  uint16_t d, m;
  uint8_t qh[4];
  uint8_t qs[16];
};

/// Byte 32*p + i of qs holds element 64*p + i in its low and element
/// 64*p + 32 + i in its high nibble: sub-blocks 2*p and 2*p + 1.
struct BlockQ4K {
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};

/// Like q4_k; bit s of qh[i] is bit 4 of element 32*s + i.
struct BlockQ5K {
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};

/// For each half h of 128 elements: byte 64*h + i of ql holds element 128*h + i
/// in its low and element 128*h + 64 + i in its high nibble; bits 2*t and 2*t +
/// 1 of byte 32*h + i of qh are bits 4 and 5 of element 128*h + 32*t + i.
/// scales[s] is the scale of elements 16*s .. 16*s + 15.
struct BlockQ6K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};

/// The numbers are those of Float8.h.
struct BlockE4M3 {
  float d;
  uint8_t qs[128];
};

static_assert(sizeof(BlockQ80) == 34 && sizeof(BlockQ40) == 18);
static_assert(sizeof(BlockQ41) == 20 && sizeof(BlockQ50) == 22);
static_assert(sizeof(BlockQ51) == 24 && sizeof(BlockQ4K) == 144);
static_assert(sizeof(BlockQ5K) == 176 && sizeof(BlockQ6K) == 210);
static_assert(sizeof(BlockE4M3) == 132);

struct SubScale {
  uint8_t scale, min;
};

/// Returns the 6-bit scale and minimum of sub-block `index` (0..7) of a
/// k-quant.
inline SubScale kSubScale(const uint8_t (&scales)[12], int index) {
  if (index < 4)
    return {uint8_t(scales[index] & 63), uint8_t(scales[index + 4] & 63)};
  uint8_t low = scales[index + 4];
  return {uint8_t((low & 15) | ((scales[index - 4] >> 6) << 4)),
          uint8_t((low >> 4) | ((scales[index] >> 6) << 4))};
}

/// Returns an element of a q6_k block (0..63, before 32 is subtracted).
inline uint8_t q6KElement(const BlockQ6K &block, int element) {
  int half = element / 128, within = element % 128;
  uint8_t low = block.ql[64 * half + within % 64] >> (within / 64 * 4);
  uint8_t high = block.qh[32 * half + within % 32] >> (within / 32 * 2);
  return uint8_t((low & 15) | ((high & 3) << 4));
}

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_BLOCKS_H
