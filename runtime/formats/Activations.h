//===- Activations.h - formats of hidden rows between stages --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_ACTIVATIONS_H
#define SLUICE_RUNTIME_FORMATS_ACTIVATIONS_H

#include <cstdint>
#include <string_view>

namespace sluice {

/// The format of the hidden rows that travel between two stages: as computed,
/// or in half the bytes for slow links. The 16-bit formats change what the next
/// stage computes, but each row still depends on itself alone.
enum class ActivationFormat : uint8_t { F32, BF16, F16 };

/// Returns "f32", "bf16" or "f16".
std::string_view activationFormatName(ActivationFormat format);

/// Returns the bytes of one number: 4 or 2.
constexpr int64_t activationBytes(ActivationFormat format) {
  return format == ActivationFormat::F32 ? 4 : 2;
}

/// Writes src[count] to dst (any alignment, count * activationBytes(format)
/// bytes), rounded to nearest even. A value outside f16's range becomes an
/// infinity; a NaN stays a NaN. The bits are the same on every machine.
/// Thread-safe.
void encodeActivations(ActivationFormat format, const float *src, uint8_t *dst,
                       int64_t count);

/// Reads what encodeActivations() wrote, exactly.
void decodeActivations(ActivationFormat format, const uint8_t *src, float *dst,
                       int64_t count);

/// Returns whether none of the numbers that encodeActivations() wrote is a NaN
/// or an infinity.
bool areFinite(ActivationFormat format, const uint8_t *src, int64_t count);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_ACTIVATIONS_H
