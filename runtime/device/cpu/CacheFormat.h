//===- CacheFormat.h - the formats of stored keys and values --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_CACHEFORMAT_H
#define SLUICE_RUNTIME_DEVICE_CPU_CACHEFORMAT_H

#include <cstdint>
#include <string_view>

namespace sluice::cpu {

/// The format of the keys and values in a cache.
enum class CacheFormat : uint8_t {
  F32, ///< as computed
  /// 8-bit integers with one float scale for each block of 32 dimensions of a
  /// token's key or value in one kv head. A block's rounding depends on that
  /// block alone.
  Q8_0,
};

/// The number of dimensions that share a scale.
constexpr int64_t scaledDims = 32;

/// Returns "f32" or "q8_0".
std::string_view cacheFormatName(CacheFormat format);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_CACHEFORMAT_H
