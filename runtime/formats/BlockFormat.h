//===- BlockFormat.h - the storage formats of weights ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a weight is a sequence of blocks. Plain formats have blocks of one
// element. Quantised formats have blocks of 32 to 256 elements that share
// scales; they are laid out as in GGUF files, except e4m3, which GGUF lacks:
//
//   q8_0  d f16, int8[32]                            w = d * q
//   q4_0  d f16, u4[32]                              w = d * (q - 8)
//   q4_1  d f16, m f16, u4[32]                       w = d * q + m
//   q5_0  d f16, high bits u32, u4[32]               w = d * (q - 16)
//   q5_1  d f16, m f16, high bits u32, u4[32]        w = d * q + m
//   q4_k  d f16, dmin f16, 8 x (6-bit sc, 6-bit m), u4[256]
//                                                    w = d*sc * q - dmin*m
//   q5_k  the same with 32 bytes of high bits
//   q6_k  u4[256], u2[256], int8 sc[16], d f16       w = d*sc * (q - 32)
//   e4m3  d f32, e4m3[128]                           w = d * q
//
// The functions here are the plain reference, against which every packed kernel
// is tested. They are pure and safe to call from any thread. They read and
// write through unaligned pointers, since rows lie anywhere in mapped files.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_FORMATS_BLOCKFORMAT_H
#define SLUICE_RUNTIME_FORMATS_BLOCKFORMAT_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

enum class Format : uint8_t {
  F32,
  F16,
  BF16,
  Q8_0,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q4_K,
  Q5_K,
  Q6_K,
  E4M3
};

/// The number of formats, which are `Format(0)` to `Format(formatCount - 1)`.
constexpr int formatCount = 12;

struct FormatInfo {
  /// The name that users and the IR use: "q4_k".
  std::string_view name;
  /// How many elements share a block; 1 for the plain formats.
  int64_t blockElements;
  int64_t blockBytes;
};

const FormatInfo &formatInfo(Format format);

/// Returns the format with that name, in lower case.
std::optional<Format> parseFormat(std::string_view name);

/// Returns whether the format groups elements into blocks with shared scales.
inline bool isQuantized(Format format) {
  return formatInfo(format).blockElements > 1;
}

/// Returns the bytes of a row of `elements`; nothing if `elements` is negative,
/// is not a whole number of blocks, or overflows.
std::optional<uint64_t> rowBytes(Format format, int64_t elements);

/// Writes the value of element i to dst[i]. `elements` is a whole number of
/// blocks. Scales that are not finite give elements that are not finite.
void dequantizeRow(Format format, const void *src, float *dst,
                   int64_t elements);

/// Returns whether quantizeRow() can write the format: f32, f16, bf16, q8_0,
/// q4_0, e4m3.
bool canQuantize(Format format);

/// Writes `elements` (a whole number of blocks) in a format that canQuantize()
/// accepts. It rounds as ggml's reference quantiser does, and for e4m3 as
/// Hugging Face does: the largest element of a block becomes 448, and the
/// others are rounded to nearest even. Elements that are not finite give blocks
/// that are not finite, never undefined behaviour.
void quantizeRow(Format format, const float *src, void *dst, int64_t elements);

/// Returns whether all scales of the row (for plain formats: all elements) are
/// finite. Use it for untrusted files. It reads only the scales, and for e4m3
/// also the numbers, which can be NaN.
bool rowIsFinite(Format format, const void *src, int64_t elements);

/// Converts exactly.
float halfToFloat(uint16_t half);
/// Rounds to nearest even; a NaN stays a NaN.
uint16_t floatToHalf(float value);
/// Converts exactly.
float bfloatToFloat(uint16_t bfloat);
/// Rounds to nearest even; a NaN stays a NaN.
uint16_t floatToBfloat(float value);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_BLOCKFORMAT_H
