//===- RandomNumbers.h - random numbers of weights by position ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The random numbers from which writeRandomRow() on the host and kernels on a
// device make the same weights. This file is compiled for both and uses only
// integers and single IEEE operations that are never contracted, so the bits
// are the same. All functions are pure.
//
// A row draws 64-bit words in ascending order and uses the lowest bits of each
// first. An element of a plain format takes 16 bits. In blocks, each field
// takes whole words, and one byte for each byte of the field:
//
//   q8_0, q4_0   word 0 for the scale, then qs
//   q4_1         like q4_0
//   q5_0, q5_1   word 0 for the scale, then qs, then qh
//   q4_k         word 0 for the sub-scales, then qs
//   q5_k         like q4_k, then qh
//   q6_k         ql, then qh, then scales
//   e4m3         word 0 for the scale, then qs
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_RANDOMNUMBERS_H
#define SLUICE_RUNTIME_FORMATS_RANDOMNUMBERS_H

#include <cstdint>

namespace sluice {

/// Returns word `number`, from 0, of the sequence of `key`. This is splitmix64,
/// which mixes a counter.
constexpr uint64_t randomWord(uint64_t key, uint64_t number) {
  uint64_t z = key + (number + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Returns a different key for each `number`, derived from `key`.
constexpr uint64_t randomKey(uint64_t key, uint64_t number) {
  return randomWord(key ^ randomWord(number, 0), 0);
}

/// Returns an element of a plain row, before it is rounded to the row's format:
/// `mean` plus `unit` times its 16 random bits as a number.
constexpr float randomElement(int16_t bits, float mean, float unit) {
  return mean + static_cast<float>(bits) * unit;
}

/// Returns a scale between 0.5 and 1.5 times `usual`, with either sign, so that
/// ranges which are not symmetric about 0 are symmetric on average.
constexpr float randomScale(uint64_t word, float usual) {
  const float size =
      0.5f + static_cast<float>(word >> 40) / static_cast<float>(1 << 24);
  return ((word & 1) != 0 ? size : -size) * usual;
}

/// Returns the scale and minimum of a part of a q4_k or q5_k block: 32 to 63.
constexpr uint8_t randomSubScale(uint8_t byte) {
  return static_cast<uint8_t>(32 + byte % 32);
}

/// Returns the scale of a part of a q6_k block: 32 to 63, with either sign.
constexpr int8_t randomSignedScale(uint8_t byte) {
  const int size = 32 + byte % 32;
  return static_cast<int8_t>(byte < 128 ? size : -size);
}

/// Returns an e4m3 number: the given bits, but zero instead of NaN.
constexpr uint8_t randomE4M3(uint8_t byte) {
  return (byte & 0x7f) == 0x7f ? static_cast<uint8_t>(byte & 0x80) : byte;
}

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_RANDOMNUMBERS_H
