//===- WeightTile.cuh - tiles of weights as factors of products -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a lane's part of half a tile (64 features, four products) from shared
// memory and turns it into pairs of 16-bit numbers. Quants become small
// integers, which f16 holds exactly: the bits of a quant below those of 1024
// are the number 1024 + quant, and one subtraction (or, if they are four bits
// higher, one fused multiplication) removes the offset.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_WEIGHTTILE_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_WEIGHTTILE_CUH

#include "runtime/device/cuda/kernels/KernelABI.h"
#include "runtime/device/cuda/kernels/Primitives.cuh"

namespace sluice::cuda {

constexpr bool hasNibbles(WeightKind kind) {
  return kind == WeightKind::Q4_0 || kind == WeightKind::Q4_K ||
         kind == WeightKind::Q6_K;
}

constexpr bool hasBlockScales(WeightKind kind) {
  return kind == WeightKind::E4M3 || kind == WeightKind::Q8_0 ||
         hasNibbles(kind);
}

/// Bytes of a lane's weights in half a tile, without Q6_K's high bits.
constexpr int laneBytes(WeightKind kind) {
  return hasNibbles(kind)                                       ? 16
         : kind == WeightKind::E4M3 || kind == WeightKind::Q8_0 ? 32
                                                                : 64;
}

/// 1024 in both halves of a register, plus what is to be subtracted.
constexpr uint32_t halves1024 = 0x64006400u;
constexpr uint32_t offsetHalves(WeightKind kind) {
  return kind == WeightKind::Q8_0   ? 0x64806480u // 1024 + 128
         : kind == WeightKind::Q4_0 ? 0x64086408u // 1024 + 8
         : kind == WeightKind::Q6_K ? 0x64206420u // 1024 + 32
                                    : halves1024;
}

/// Quants that are 4 bits higher are 1024 + 16 * quant. A sixteenth of that is
/// exact; then 64 and the offset are to be subtracted.
constexpr uint32_t sixteenthHalves = 0x2c002c00u;
constexpr uint32_t negatedSixteenthOffset(WeightKind kind) {
  return kind == WeightKind::Q4_0   ? 0xd480d480u // -(64 + 8)
         : kind == WeightKind::Q6_K ? 0xd600d600u // -(64 + 32)
                                    : 0xd400d400u;
}

/// The bits of an e4m3 number, moved to those of an f16, are the number divided
/// by this.
constexpr float e4m3Factor = 256;

template <WeightKind kind> struct HalfTile {
  static constexpr int vectors = laneBytes(kind) / 16;
  Vector4 plane[vectors];
  uint32_t high[2]; ///< for Q6_K

  /// Loads half `half` of the tile at `tile`.
  SLUICE_MEMBER static HalfTile load(const uint8_t *tile, int half,
                                     uint32_t lane) {
    HalfTile part;
#pragma unroll
    for (int i = 0; i < vectors; ++i)
      part.plane[i] = load16(tile + (half * vectors + i) * 512 + lane * 16);
    if constexpr (kind == WeightKind::Q6_K) {
      const auto *words = reinterpret_cast<const uint32_t *>(
          tile + 1024 + lane * 16 + half * 8);
      part.high[0] = words[0];
      part.high[1] = words[1];
    }
    return part;
  }

  /// Makes the first factor of product `p`, one of the half's four.
  SLUICE_MEMBER static void factor(const HalfTile &part, int p,
                                   uint32_t (&a)[4]) {
    if constexpr (kind == WeightKind::E4M3 || kind == WeightKind::Q8_0) {
      const Vector4 &bytes = part.plane[p / 2];
      ofBytes(bytes.word[p % 2 * 2], a[0], a[1]);
      ofBytes(bytes.word[p % 2 * 2 + 1], a[2], a[3]);
    } else if constexpr (hasNibbles(kind)) {
      uint32_t quants = part.plane[0].word[p];
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        // The third and the fourth pair of the word, moved to the first two.
        uint32_t two = i == 0 ? quants : quants >> 8;
        uint32_t even = maskInto(two, 0x000f000fu, highBits(part, p, i));
        uint32_t odd = maskInto(two, 0x00f000f0u, highBits(part, p, i + 1));
        a[i] = subtractHalves(even, offsetHalves(kind));
        a[i + 1] = multiplyAddHalves(odd, sixteenthHalves,
                                     negatedSixteenthOffset(kind));
      }
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a[i] = part.plane[p].word[i];
    }
  }

private:
  /// Returns 1024, and for Q6_K the two high bits of pair `i` above the place
  /// of the low four, which are bits 0-3 of even pairs and 4-7 of odd ones.
  SLUICE_MEMBER static uint32_t highBits(const HalfTile &part, int p, int i) {
    if constexpr (kind != WeightKind::Q6_K)
      return constantRegister<halves1024>();
    int from = 2 * i + 8 * (p % 2), to = i % 2 == 0 ? 4 : 8;
    uint32_t bits = part.high[p / 2];
    bits = from > to ? bits >> (from - to) : bits << (to - from);
    return maskInto(bits, i % 2 == 0 ? 0x00300030u : 0x03000300u,
                    constantRegister<halves1024>());
  }

  /// Makes two registers of two numbers each from four bytes.
  SLUICE_MEMBER static void ofBytes(uint32_t bytes, uint32_t &first,
                                    uint32_t &second) {
    if constexpr (kind == WeightKind::E4M3) {
      first = ofE4M3(permuteBytes(bytes, 0, 0x1404));
      second = ofE4M3(permuteBytes(bytes, 0, 0x3424));
    } else {
      first = subtractHalves(permuteBytes(bytes, halves1024, 0x5150),
                             offsetHalves(kind));
      second = subtractHalves(permuteBytes(bytes, halves1024, 0x5352),
                              offsetHalves(kind));
    }
  }
  /// Converts two numbers in the high bytes of halves: their exponent and
  /// mantissa go below the top bit of f16's exponent.
  SLUICE_MEMBER static uint32_t ofE4M3(uint32_t pair) {
    return (pair & 0x80008000u) | (pair & 0x7f007f00u) >> 1;
  }
};

/// The scales of a lane's two columns, g and g + 8, in one block of 32 features
/// (Q6_K: of 16). In E4M3 all blocks of a unit have the same scale.
struct BlockScales {
  float scale[2];
  float minimum[2]; ///< for Q4_K
};

template <WeightKind kind>
SLUICE_DEVICE BlockScales blockScales(const uint8_t *tile, int block,
                                      uint32_t lane) {
  BlockScales scales = {};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    uint32_t column = lane / 4 + 8 * i;
    if constexpr (kind == WeightKind::Q6_K) {
      auto d = *reinterpret_cast<const uint16_t *>(tile + 1664 + column * 2);
      auto sc = static_cast<int8_t>(tile[1536 + column * 8 + block]);
      scales.scale[i] = halfToFloat(d) * float(sc);
    } else if constexpr (kind == WeightKind::Q4_K) {
      const uint8_t *at = tile + 1024 + column * 12;
      const auto *d = reinterpret_cast<const uint16_t *>(at);
      scales.scale[i] = halfToFloat(d[0]) * float(at[4 + block]);
      scales.minimum[i] = halfToFloat(d[1]) * float(at[8 + block]);
    } else if constexpr (kind == WeightKind::E4M3) {
      const auto *d = reinterpret_cast<const float *>(tile + 2048);
      scales.scale[i] = d[column] * e4m3Factor;
    } else if constexpr (hasBlockScales(kind)) {
      constexpr int place = kind == WeightKind::Q8_0 ? 2048 : 1024;
      scales.scale[i] = halfToFloat(*reinterpret_cast<const uint16_t *>(
          tile + place + column * 8 + block * 2));
    }
  }
  return scales;
}

/// Returns the weight that a factor stands for, in the operations of
/// runtime/formats and so with the same bits.
template <WeightKind kind>
SLUICE_DEVICE float weightOf(uint32_t factor, float scale, float minimum) {
  if constexpr (kind == WeightKind::BF16)
    return bfloatToFloat(uint16_t(factor));
  else if constexpr (hasBlockScales(kind))
    return scale * halfToFloat(uint16_t(factor)) - minimum;
  else
    return halfToFloat(uint16_t(factor));
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_WEIGHTTILE_CUH
