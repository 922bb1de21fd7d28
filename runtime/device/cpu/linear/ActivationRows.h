//===- ActivationRows.h - rows of activations as 8-bit blocks -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product with quantised weights takes its activations as 8-bit integers, so
// that the dot product of a block is an exact integer and only 1/32 of the
// arithmetic is floating point. A row of N floats becomes N/32 blocks; rows
// lie one after another: blocks[row][N / 32].
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_ACTIVATIONROWS_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_ACTIVATIONROWS_H

#include "runtime/device/cpu/RoundedBlock.h"

#include <cstdint>

namespace sluice::cpu {

/// Elements of a row that share a scale.
constexpr int64_t activationBlock = 32;

/// 32 activations: x[i] is about scale * q[i].
///
///   scale = max |x| / 127 and q[i] = x[i] * (127 / max |x|) rounded to nearest
///   even, so |q[i]| <= 127.
///
/// A block whose largest magnitude is below 2^-100 is all zeros, and one with
/// an infinity or a NaN has q = 0 and a NaN as its scale, which makes every
/// product with it a NaN.
struct alignas(16) QuantizedBlock {
  int8_t q[activationBlock];
  float scale;
  /// scale * (the sum of q), for weights with a minimum.
  float scaledSum;
  /// Minus the sum of q, and minus that of its first half, for weights that are
  /// stored with an offset.
  int32_t negativeSum;
  int32_t negativeSumLow;
};
static_assert(sizeof(QuantizedBlock) == 48);

/// Returns the bytes of a quantised row. `cols` is a multiple of 32.
constexpr int64_t quantizedRowBytes(int64_t cols) {
  return cols / activationBlock * int64_t(sizeof(QuantizedBlock));
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_ACTIVATIONROWS_H
