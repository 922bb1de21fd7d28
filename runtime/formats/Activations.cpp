//===- Activations.cpp - formats of hidden rows between stages ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/formats/Activations.h"
#include "runtime/formats/BlockFormat.h"

#include <bit>
#include <cstring>
#include <immintrin.h>

using namespace sluice;

namespace {

constexpr int64_t lanes = 8;

/// Returns whether the CPU converts halves in hardware; every CPU since 2013
/// does.
bool hasHalfInstructions() {
  static const bool has =
      __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return has;
}

/// Both functions convert as many numbers as fit in whole vectors and return
/// that count. Their bits are those of floatToHalf() and halfToFloat(), except
/// for signalling NaNs, which become quiet.
__attribute__((target("avx,f16c"))) int64_t encodeHalfVectors(const float *src,
                                                              uint8_t *dst,
                                                              int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    __m128i halves =
        _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(dst + 2 * i), halves);
  }
  return i;
}

__attribute__((target("avx,f16c"))) int64_t
decodeHalfVectors(const uint8_t *src, float *dst, int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    __m128i halves =
        _mm_loadu_si128(reinterpret_cast<const __m128i *>(src + 2 * i));
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(halves));
  }
  return i;
}

void encodeHalves(const float *src, uint8_t *dst, int64_t count) {
  int64_t i = hasHalfInstructions() ? encodeHalfVectors(src, dst, count) : 0;
  for (; i < count; ++i) {
    uint16_t half = floatToHalf(src[i]);
    std::memcpy(dst + 2 * i, &half, sizeof(half));
  }
}

void decodeHalves(const uint8_t *src, float *dst, int64_t count) {
  int64_t i = hasHalfInstructions() ? decodeHalfVectors(src, dst, count) : 0;
  for (; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, src + 2 * i, sizeof(half));
    dst[i] = halfToFloat(half);
  }
}

void copyFloats(const void *src, void *dst, int64_t count) {
  if (count > 0) // without elements, the pointers may be null
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(float));
}

/// Like floatToBfloat(), but written so that the compiler vectorizes it.
void encodeBfloats(const float *src, uint8_t *dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = std::bit_cast<uint32_t>(src[i]);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t quiet = bits >> 16 | 64;
    auto bfloat = static_cast<uint16_t>(
        (bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
    std::memcpy(dst + 2 * i, &bfloat, sizeof(bfloat));
  }
}

void decodeBfloats(const uint8_t *src, float *dst, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bfloat;
    std::memcpy(&bfloat, src + 2 * i, sizeof(bfloat));
    dst[i] = std::bit_cast<float>(uint32_t(bfloat) << 16);
  }
}

} // namespace

std::string_view sluice::activationFormatName(ActivationFormat format) {
  switch (format) {
  case ActivationFormat::F32:
    return "f32";
  case ActivationFormat::BF16:
    return "bf16";
  case ActivationFormat::F16:
    break;
  }
  return "f16";
}

void sluice::encodeActivations(ActivationFormat format, const float *src,
                               uint8_t *dst, int64_t count) {
  switch (format) {
  case ActivationFormat::F32:
    return copyFloats(src, dst, count);
  case ActivationFormat::BF16:
    return encodeBfloats(src, dst, count);
  case ActivationFormat::F16:
    return encodeHalves(src, dst, count);
  }
}

void sluice::decodeActivations(ActivationFormat format, const uint8_t *src,
                               float *dst, int64_t count) {
  switch (format) {
  case ActivationFormat::F32:
    return copyFloats(src, dst, count);
  case ActivationFormat::BF16:
    return decodeBfloats(src, dst, count);
  case ActivationFormat::F16:
    return decodeHalves(src, dst, count);
  }
}

/// Returns whether no exponent has all its bits set.
template <typename Bits>
static bool areFinite(const uint8_t *src, int64_t count, Bits exponent) {
  bool all = true;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, src + i * int64_t(sizeof bits), sizeof bits);
    all &= (bits & exponent) != exponent;
  }
  return all;
}

bool sluice::areFinite(ActivationFormat format, const uint8_t *src,
                       int64_t count) {
  switch (format) {
  case ActivationFormat::F32:
    return ::areFinite<uint32_t>(src, count, 0x7f800000);
  case ActivationFormat::BF16:
    return ::areFinite<uint16_t>(src, count, 0x7f80);
  case ActivationFormat::F16:
    break;
  }
  return ::areFinite<uint16_t>(src, count, 0x7c00);
}
