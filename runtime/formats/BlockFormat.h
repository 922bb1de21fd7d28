//===- BlockFormat.h - the number formats that weights are stored in ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a weight is a sequence of blocks. The plain formats have blocks of
// one element; the quantised ones group 32 to 256 elements that share scales,
// laid out as in GGUF files, which have no e4m3:
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
// The functions here are the plain reference: every packed kernel is tested
// against them. They are pure and safe to call from any thread, and read and
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

/// How many formats there are: `Format(0)` .. `Format(formatCount - 1)`.
constexpr int formatCount = 12;

struct FormatInfo {
  /// As users and the IR spell it: "q4_k".
  std::string_view name;
  /// Elements that share a block; 1 for the plain formats.
  int64_t blockElements;
  int64_t blockBytes;
};

const FormatInfo &formatInfo(Format format);

/// The format with that (lower case) name.
std::optional<Format> parseFormat(std::string_view name);

/// Whether the format groups elements into blocks with shared scales.
inline bool isQuantized(Format format) {
  return formatInfo(format).blockElements > 1;
}

/// Bytes of a row of `elements`; nothing when that is negative, is not a whole
/// number of blocks or overflows.
std::optional<uint64_t> rowBytes(Format format, int64_t elements);

/// dst[i] = the value of element i. `elements` is a whole number of blocks.
/// Scales that are not finite give elements that are not finite.
void dequantizeRow(Format format, const void *src, float *dst,
                   int64_t elements);

/// Whether quantizeRow can write that format: f32, f16, bf16, q8_0, q4_0, e4m3.
bool canQuantize(Format format);

/// Writes `elements` (a whole number of blocks) in a format that canQuantize
/// allows, rounded as ggml's reference quantiser does, and e4m3 as Hugging
/// Face's: the largest of a block becomes 448, the others are rounded to
/// nearest even. Elements that are not finite give blocks that are not finite,
/// never undefined behaviour.
void quantizeRow(Format format, const float *src, void *dst, int64_t elements);

/// Whether no scale (plain formats: no element) of the row is infinite or NaN.
/// The check for files that nobody vouches for; reads the scales only, and of
/// e4m3 the numbers: it has NaNs.
bool rowIsFinite(Format format, const void *src, int64_t elements);

/// Exact.
float halfToFloat(uint16_t half);
/// Rounded to nearest even; NaNs stay NaNs.
uint16_t floatToHalf(float value);
/// Exact.
float bfloatToFloat(uint16_t bfloat);
/// Rounded to nearest even; NaNs stay NaNs.
uint16_t floatToBfloat(float value);

} // namespace sluice

#endif // SLUICE_RUNTIME_FORMATS_BLOCKFORMAT_H
