//===- RandomQuants.cuh - the contents of each kind's random tiles --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each format in which rows are made has a structure that says what of it tiles
// contain:
//
//   kind                      the kind of the tiles
//   findsScales               whether scales must be computed first, by
//                             findScales(), since the words do not contain them
//   quants(column, feature)   the quants of feature `feature`, which is even,
//                             and of the next one, in the low and the high half
//                             of a word
//   scale(column, block)      the scale of a block
//   subScales(column, ...)    the scales of the parts of a block in a unit
//
// Features, blocks and units are counted from the start of the row.
// RandomNumbers.h says what each of a row's words is for.
// a row's words is for, RandomNumbers.h says.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMQUANTS_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMQUANTS_CUH

#include "runtime/device/cuda/kernels/Math.cuh"
#include "runtime/device/cuda/kernels/RandomABI.h"
#include "runtime/formats/Float8.h"
#include "runtime/formats/RandomNumbers.h"

namespace sluice::cuda {

/// Returns two bytes in the form of quants(): byte `byte`, which is even, and
/// the next byte of word `word` of a row.
SLUICE_DEVICE uint32_t randomBytes(const RandomColumn &column, int32_t word,
                                   int32_t byte) {
  const auto both =
      uint32_t(randomWord(column.key, uint64_t(word)) >> byte * 8);
  return (both & 0xffu) | (both & 0xff00u) << 8;
}

/// Returns the scale that word `word` of a row gives to the block after it.
SLUICE_DEVICE float randomBlockScale(const RandomColumn &column, int32_t word) {
  return randomScale(randomWord(column.key, uint64_t(word)), column.unit);
}

/// The scales of a block of the kernel, in shared memory, [unit -
/// firstUnit][column].
struct RandomScales {
  static constexpr bool findsScales = false;
  float *found;
  int32_t firstUnit;
};

/// Rows in the kind's own format: here f32, f16 and bf16.
template <WeightKind format> struct RandomQuants : RandomScales {
  static constexpr WeightKind kind = format;

  /// Returns a feature's number, rounded to the format.
  SLUICE_MEMBER static float number(const RandomColumn &column,
                                    int32_t feature) {
    const uint64_t word = randomWord(column.key, uint64_t(feature / 4));
    const float exact = randomElement(int16_t(word >> feature % 4 * 16),
                                      column.mean, column.unit);
    if constexpr (format == WeightKind::F16)
      return halfToFloat(floatToHalf(exact));
    else if constexpr (format == WeightKind::BF16)
      return bfloatToFloat(floatToBfloat(exact));
    else
      return exact;
  }

  SLUICE_MEMBER static uint32_t quants(const RandomColumn &column,
                                       int32_t feature) {
    const float first = number(column, feature);
    const float second = number(column, feature + 1);
    return format == WeightKind::F16 ? packHalves(first, second)
                                     : packBfloats(first, second);
  }
};

template <> struct RandomQuants<WeightKind::E4M3> : RandomScales {
  static constexpr WeightKind kind = WeightKind::E4M3;
  static constexpr int32_t blockWords = 17;

  SLUICE_MEMBER static uint32_t quants(const RandomColumn &column,
                                       int32_t feature) {
    const int32_t block = feature / 128, place = feature % 128;
    const uint32_t both =
        randomBytes(column, block * blockWords + 1 + place / 8, place % 8);
    return randomE4M3(uint8_t(both)) | uint32_t(randomE4M3(uint8_t(both >> 16)))
                                           << 16;
  }

  SLUICE_MEMBER static float scale(const RandomColumn &column, int32_t block) {
    return randomBlockScale(column, block * blockWords);
  }
};

/// Rows of a plain format, quantised to e4m3 as quantizeRow() does it.
template <WeightKind format> struct RandomE4M3Of : RandomScales {
  static constexpr WeightKind kind = WeightKind::E4M3;
  static constexpr bool findsScales = true;
  using Plain = RandomQuants<format>;

  /// Computes in each thread the scale of one column in one of the block's
  /// units.
  SLUICE_MEMBER void findScales(const RandomColumn *columns,
                                int32_t units) const {
    const auto thread = int32_t(threadIndex());
    const int32_t unit = thread / tileColumns;
    if (unit >= units)
      return;
    const RandomColumn &column = columns[thread % tileColumns];
    float largest = 0;
    for (int32_t i = 0; i < 128; ++i) {
      const float size =
          absolute(Plain::number(column, 128 * (firstUnit + unit) + i));
      largest = size > largest ? size : largest;
    }
    found[thread] = scaleOfE4M3(largest);
  }

  SLUICE_MEMBER uint32_t quants(const RandomColumn &column,
                                int32_t feature) const {
    const float d = scale(column, feature / 128);
    const float first = Plain::number(column, feature);
    const float second = Plain::number(column, feature + 1);
    return floatToE4M3(first / d) | uint32_t(floatToE4M3(second / d)) << 16;
  }

  SLUICE_MEMBER float scale(const RandomColumn &column, int32_t block) const {
    return found[(block - firstUnit) * tileColumns + column.number];
  }
};

template <> struct RandomQuants<WeightKind::Q8_0> : RandomScales {
  static constexpr WeightKind kind = WeightKind::Q8_0;
  static constexpr int32_t blockWords = 5;

  /// Returns quants plus 128, which inverts the sign bit of a byte.
  SLUICE_MEMBER static uint32_t quants(const RandomColumn &column,
                                       int32_t feature) {
    const int32_t block = feature / 32, place = feature % 32;
    return randomBytes(column, block * blockWords + 1 + place / 8, place % 8) ^
           0x00800080u;
  }

  SLUICE_MEMBER static uint16_t scale(const RandomColumn &column,
                                      int32_t block) {
    return floatToHalf(randomBlockScale(column, block * blockWords));
  }
};

template <> struct RandomQuants<WeightKind::Q4_0> : RandomScales {
  static constexpr WeightKind kind = WeightKind::Q4_0;
  static constexpr int32_t blockWords = 3;

  /// The second half of a block is in the high nibbles of the bytes of its
  /// first half.
  SLUICE_MEMBER static uint32_t quants(const RandomColumn &column,
                                       int32_t feature) {
    const int32_t block = feature / 32, place = feature % 16;
    return randomBytes(column, block * blockWords + 1 + place / 8, place % 8) >>
               feature % 32 / 16 * 4 &
           0x000f000fu;
  }

  SLUICE_MEMBER static uint16_t scale(const RandomColumn &column,
                                      int32_t block) {
    return floatToHalf(randomBlockScale(column, block * blockWords));
  }
};

/// Blocks are two units long. Of 64 features, the second half is in the high
/// nibbles of the bytes of the first half.
template <> struct RandomQuants<WeightKind::Q4_K> : RandomScales {
  static constexpr WeightKind kind = WeightKind::Q4_K;
  static constexpr int32_t blockWords = 17;

  SLUICE_MEMBER static uint32_t quants(const RandomColumn &column,
                                       int32_t feature) {
    const int32_t block = feature / 256, part = feature % 256 / 64;
    const int32_t place = feature % 32;
    return randomBytes(column, block * blockWords + 1 + 4 * part + place / 8,
                       place % 8) >>
               feature % 64 / 32 * 4 &
           0x000f000fu;
  }

  /// Returns the scales of the unit's four parts, a byte each; their minima are
  /// the same numbers.
  SLUICE_MEMBER static uint32_t subScales(const RandomColumn &column,
                                          int32_t unit) {
    const uint64_t bytes =
        randomWord(column.key, uint64_t(unit / 2 * blockWords));
    uint32_t scales = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      scales |=
          uint32_t(randomSubScale(uint8_t(bytes >> (unit % 2 * 32 + 8 * i))))
          << 8 * i;
    return scales;
  }
};

/// Blocks are two units long, and a unit has half of a block's contents: 64
/// bytes of low nibbles, 32 bytes of high bits, and eight scales.
template <> struct RandomQuants<WeightKind::Q6_K> : RandomScales {
  static constexpr WeightKind kind = WeightKind::Q6_K;
  static constexpr int32_t blockWords = 26;

  /// Bits 0 to 3 are the low bits, 4 and 5 the high ones.
  SLUICE_MEMBER static uint32_t quants(const RandomColumn &column,
                                       int32_t feature) {
    const int32_t first = feature / 256 * blockWords;
    const int32_t half = feature % 256 / 128, place = feature % 128;
    const uint32_t low =
        randomBytes(column, first + 8 * half + place % 64 / 8, place % 8);
    const uint32_t high =
        randomBytes(column, first + 16 + 4 * half + place % 32 / 8, place % 8);
    return (low >> place / 64 * 4 & 0x000f000fu) |
           (high >> place / 32 * 2 & 0x00030003u) << 4;
  }

  /// Returns the scales of the first or the last four of the unit's eight
  /// parts, a byte each.
  SLUICE_MEMBER static uint32_t subScales(const RandomColumn &column,
                                          int32_t unit, int32_t part) {
    const uint64_t bytes =
        randomWord(column.key, uint64_t(unit / 2 * blockWords + 24 + unit % 2));
    uint32_t scales = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      scales |= uint32_t(uint8_t(
                    randomSignedScale(uint8_t(bytes >> (part * 32 + 8 * i)))))
                << 8 * i;
    return scales;
  }
};

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_RANDOMQUANTS_CUH
