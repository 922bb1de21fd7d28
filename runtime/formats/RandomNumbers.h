//===- RandomNumbers.h - random numbers of weights, by their place --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What writeRandomRow() on a host and the kernels of a device compute alike:
// the same bits, as it is compiled for both and consists of integers and of
// single operations of IEEE's, none of them contracted. Pure functions.
//
// A row draws 64-bit words in ascending order, and takes their lowest bits
// first. An element of a plain format takes 16 of them. Of blocks each field
// takes whole words, and a byte for each of its own:
//
//   q8_0, q4_0   word 0 the scale, then qs
//   q4_1         as q4_0
//   q5_0, q5_1   word 0 the scale, then qs, then qh
//   q4_k         word 0 the sub-scales, then qs
//   q5_k         the same, then qh
//   q6_k         ql, then qh, then scales
//   e4m3         word 0 the scale, then qs
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_RANDOMNUMBERS_H
#define SLUICE_RUNTIME_FORMATS_RANDOMNUMBERS_H

#include <cstdint>

namespace sluice {

/// Word `number`, from 0, of those that `key` decides: splitmix64, which is a
/// counter, mixed.
constexpr uint64_t randomWord(uint64_t key, uint64_t number) {
  uint64_t z = key + (number + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// A key of its own for each `number`; of keys that one number decides already.
constexpr uint64_t randomKey(uint64_t key, uint64_t number) {
  return randomWord(key ^ randomWord(number, 0), 0);
}

/// An element of a plain row, before it is rounded to the row's format, from
/// the 16 bits that it has of its word: these as a number times `unit`, and
/// `mean`.
constexpr float randomElement(int16_t bits, float mean, float unit) {
  return mean + static_cast<float>(bits) * unit;
}

/// A scale between half and one and a half of the usual one, and of either
/// sign, so that ranges that are not even about 0 are so on the whole.
constexpr float randomScale(uint64_t word, float usual) {
  const float size =
      0.5f + static_cast<float>(word >> 40) / static_cast<float>(1 << 24);
  return ((word & 1) != 0 ? size : -size) * usual;
}

/// Scale and minimum of a part of a q4_k or q5_k block: 32 to 63.
constexpr uint8_t randomSubScale(uint8_t byte) {
  return static_cast<uint8_t>(32 + byte % 32);
}

/// The scale of a part of a q6_k block: 32 to 63, of either sign.
constexpr int8_t randomSignedScale(uint8_t byte) {
  const int size = 32 + byte % 32;
  return static_cast<int8_t>(byte < 128 ? size : -size);
}

/// A number of e4m3: the bits as they are, but zero instead of NaN.
constexpr uint8_t randomE4M3(uint8_t byte) {
  return (byte & 0x7f) == 0x7f ? static_cast<uint8_t>(byte & 0x80) : byte;
}

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_RANDOMNUMBERS_H
