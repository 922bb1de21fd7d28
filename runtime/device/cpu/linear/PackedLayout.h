//===- PackedLayout.h - the bytes of a panel, kind by kind ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A panel of a quantised kind, or of E4M3, is a sequence of groups, each of
// `groupBlocks` blocks of 32 features:
//
//   quants  [block][64 bytes for each bit of a quant]
//   scales  [block][...], so that a group is whole cache lines
//
// 8-bit quants: byte 64*j + 4*column + i is feature 4*j + i (j = 0..7).
// E4M3: byte 16*feature + column.
// 4-bit quants: byte 64*j + 4*column + i holds feature 4*j + i in its low and
// feature 16 + 4*j + i in its high nibble (j = 0..3).
// 5- and 6-bit quants: quad q of a column is its features 4*q .. 4*q + 3, and
// byte 64*j + 4*column + i holds bits of their i-th ones.
//   5 bits: j = 0..4 has quad j in its low 5 bits. Above them
//     quad 5 has its bits 0..2 in bits 5..7 of j = 0, 3..4 in 5..6 of j = 1
//     quad 6 has its bits 0..2 in bits 5..7 of j = 2, 3..4 in 5..6 of j = 3
//     quad 7 has its bits 0..2 in bits 5..7 of j = 4, 3 and 4 in bit 7 of
//     j = 1 and j = 3
//   6 bits: j = 3*half + m has quad 4*half + m in its low 6 bits (m = 0..2),
//     and above them bits 2*m and 2*m + 1 of quad 4*half + 3
//
// Scales of a block:
//   Q8, Q5, Q4          f16 d[16]
//   Q5Affine, Q4Affine  f16 d[16], f16 m[16]
// and of a group of 8 blocks:
//   Q5K, Q4K            f16 d[16], f16 dmin[16], then of
//                       [block]: u6 sc[16], u6 m[16]
//                       four times 64 in three times 64 bytes, as quads of 6
//                       bits in half a block
//   Q6K                 f16 d[16], then [block][half]: s8 sc[16],
//                       then 32 bytes unused
// and of a group of 4 blocks:
//   E4M3                f32 d[16]
//
// The last group of a panel may hold fewer blocks than its size; the rest of
// it is zeros. Other kinds: element 16*feature + column.
//
// Included by code for every instruction set: constants only.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_PACKEDLAYOUT_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_PACKEDLAYOUT_H

#include "runtime/device/cpu/linear/PackedWeight.h"

namespace sluice::cpu {

struct PackedLayout {
  /// Bits of a quant: 4, 5, 6 or 8. For kinds without quants, bits of an
  /// element.
  int bits;
  /// Blocks of a group; 0 if there are no groups.
  int groupBlocks;
  /// Bytes of a block's quants, and of a group.
  int blockBytes;
  int groupBytes;
  /// log2 of what is subtracted from each quant; -1 if nothing is.
  int offsetShift;
  /// hasMin: whether a block has a minimum. hasSubScales: whether its scale is
  /// the product of a half and a small integer.
  bool hasMin;
  bool hasSubScales;
  /// Parts of a block that have a scale of their own.
  int subBlocks;

  /// Whether sub-scales have 6 bits: those of kinds with minima have; those of
  /// Q6K have 8.
  constexpr bool hasSqueezedSubScales() const { return hasSubScales && hasMin; }

  /// The offset of the scales in a group.
  constexpr int scalesAt() const { return groupBlocks * blockBytes; }
};

constexpr PackedLayout packedLayout(PackedKind kind) {
  switch (kind) {
  case PackedKind::F32:
    return {32, 0, 0, 0, -1, false, false, 0};
  case PackedKind::F16:
  case PackedKind::BF16:
    return {16, 0, 0, 0, -1, false, false, 0};
  case PackedKind::E4M3:
    return {8, 4, 512, 2112, -1, false, false, 1};
  case PackedKind::Q8:
    return {8, 2, 512, 1088, 7, false, false, 1};
  case PackedKind::Q5:
    return {5, 2, 320, 704, 4, false, false, 1};
  case PackedKind::Q4:
    return {4, 2, 256, 576, 3, false, false, 1};
  case PackedKind::Q5Affine:
    return {5, 1, 320, 384, -1, true, false, 1};
  case PackedKind::Q4Affine:
    return {4, 1, 256, 320, -1, true, false, 1};
  case PackedKind::Q5K:
    return {5, 8, 320, 2816, -1, true, true, 1};
  case PackedKind::Q4K:
    return {4, 8, 256, 2304, -1, true, true, 1};
  case PackedKind::Q6K:
    return {6, 8, 384, 3392, 5, false, true, 2};
  }
  return {};
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_PACKEDLAYOUT_H
