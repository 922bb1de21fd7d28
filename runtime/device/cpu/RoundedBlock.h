//===- RoundedBlock.h - which blocks can be rounded to 8 bits -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floats that share a scale, activations and a cache's, become integers of up
// to 127 by their largest magnitude. Without their signs, the bits of floats
// order as integers as their magnitudes do, with infinity and NaNs above all
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ROUNDEDBLOCK_H
#define SLUICE_RUNTIME_DEVICE_CPU_ROUNDEDBLOCK_H

#include <cstdint>

namespace sluice::cpu {

constexpr int32_t magnitudeMask = 0x7fffffff;
/// 2^-100: a block whose largest magnitude is less is all zeros.
constexpr int32_t minMagnitude = 0x0d800000;
/// A block with such a magnitude, or a NaN, has a NaN as its scale.
constexpr int32_t infiniteMagnitude = 0x7f800000;

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ROUNDEDBLOCK_H
