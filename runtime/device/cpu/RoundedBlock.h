//===- RoundedBlock.h - the limits of blocks that are rounded to 8 bits ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations and cached keys and values are rounded in blocks that share a
// scale: the largest magnitude of a block becomes 127. The constants are the
// bits of floats. Without the sign, the bits of floats compare as integers in
// the order of the magnitudes, with infinity and NaNs above all numbers.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ROUNDEDBLOCK_H
#define SLUICE_RUNTIME_DEVICE_CPU_ROUNDEDBLOCK_H

#include <cstdint>

namespace sluice::cpu {

constexpr int32_t magnitudeMask = 0x7fffffff;
/// 2^-100: a block whose largest magnitude is below it becomes zeros.
constexpr int32_t minMagnitude = 0x0d800000;
/// A block with an infinity or a NaN has a NaN as its scale.
constexpr int32_t infiniteMagnitude = 0x7f800000;

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ROUNDEDBLOCK_H
