//===- LinearAvx2.cpp - linear kernels for AVX2 ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/linear/KernelTables.h"
#include "runtime/device/cpu/linear/PackedLayout.h"

#include <immintrin.h>

using namespace sluice;
using namespace sluice::cpu;

namespace {

struct Isa {
  static constexpr int parts = 2;
  static constexpr int plainPanels = 1, widenedPanels = 1, plainRows = 6;
  static constexpr int lonePlainRows = 6, loneQuantRows = 5;
  static constexpr int quantPanels = 1, quantRows = 4;
  static constexpr int quadsUnrolled = 1;
  static constexpr bool expandsQuants = true;
  static constexpr int64_t expandedBytesAtMost = 256 << 10;
  using Int = __m256i;
  using Float = __m256;

  static Int zero() { return _mm256_setzero_si256(); }
  static Int loadInt(const uint8_t *p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
  }
  static void storeInt(uint8_t *p, Int a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), a);
  }
  static void storeFloat(uint8_t *p, Float a) {
    _mm256_storeu_ps(reinterpret_cast<float *>(p), a);
  }
  static Int broadcastInt(const uint8_t *p) {
    int32_t value;
    __builtin_memcpy(&value, p, sizeof(value));
    return _mm256_set1_epi32(value);
  }
  template <int bits> static Int shiftLeft(Int a) {
    return _mm256_slli_epi32(a, bits);
  }
  static Int subtract(Int a, Int b) { return _mm256_sub_epi32(a, b); }
  /// Returns `mask` of each byte's bits from bit `shift` on.
  template <int shift, int mask> static Int field(Int a) {
    static_assert((mask << shift) < 256, "shifts are of 16 bits");
    return _mm256_and_si256(_mm256_srli_epi16(a, shift),
                            _mm256_set1_epi8(mask));
  }
  static Int either(Int a, Int b) { return _mm256_or_si256(a, b); }

  static Float zeroFloat() { return _mm256_setzero_ps(); }
  static Float setFloat(float value) { return _mm256_set1_ps(value); }
  static Float loadFloat(const uint8_t *p) {
    return _mm256_loadu_ps(reinterpret_cast<const float *>(p));
  }
  static __m128i load128(const uint8_t *p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  }
  static __m128i load64(const uint8_t *p) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p));
  }
  static Float loadHalves(const uint8_t *p) {
    return _mm256_cvtph_ps(load128(p));
  }
  static Float loadBfloats(const uint8_t *p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(load128(p)), 16));
  }
  /// Returns the bits of e4m3 numbers at the place of those of halves, which
  /// makes the numbers smaller by 2^8.
  static Float loadE4M3(const uint8_t *p) {
    __m128i bits = _mm_slli_epi16(_mm_cvtepi8_epi16(load64(p)), 7);
    return _mm256_cvtph_ps(_mm_and_si128(bits, _mm_set1_epi16(short(0xbf80))));
  }
  static Float loadU8(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(load64(p)));
  }
  static Float loadS8(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(load64(p)));
  }
  static Float broadcastFloat(const uint8_t *p) {
    float value;
    __builtin_memcpy(&value, p, sizeof(value));
    return _mm256_set1_ps(value);
  }
  static Float toFloat(Int a) { return _mm256_cvtepi32_ps(a); }
  static Float multiply(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float multiplyAdd(Float a, Float b, Float c) {
    return _mm256_fmadd_ps(a, b, c);
  }
  static Float negativeMultiplyAdd(Float a, Float b, Float c) {
    return _mm256_fnmadd_ps(a, b, c);
  }

  /// Writes the first `count` lanes, plus the bias if there is one.
  static void store(float *y, const float *bias, int count, Float sum) {
    Int mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count),
                                  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    if (bias)
      sum = _mm256_add_ps(sum, _mm256_maskload_ps(bias, mask));
    _mm256_maskstore_ps(y, mask, sum);
  }

  // vpmaddubsw multiplies unsigned by signed bytes and adds two products in 16
  // bits, which saturate. With the magnitudes of quants as the unsigned operand
  // and activations with the quants' signs as the other, two products are at
  // most 2 * 128 * 127, below 2^15, and so exact. (A flipped activation is at
  // least -128, and two products at least -2^15.)
  static Int addPairs(Int acc, Int words) {
    return _mm256_add_epi32(acc,
                            _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
  }

  struct Quants {
    Int magnitude, value;
  };
  static Int startWide(Int) { return zero(); }
  static Quants quantsWide(Int bytes) {
    Int w = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
    return {_mm256_abs_epi8(w), w};
  }
  static Int dotWide(Int acc, Quants w, Int a) {
    return addPairs(
        acc, _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(a, w.value)));
  }

  struct Split {
    Int magnitude, sign;
  };
  static Split split(Int bytes) {
    Int w = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
    return {_mm256_abs_epi8(w), _mm256_cmpgt_epi8(zero(), w)};
  }
  static Int addNegatives(Int sum, Split w) {
    return addPairs(
        sum, _mm256_maddubs_epi16(
                 w.magnitude, _mm256_and_si256(w.sign, _mm256_set1_epi8(1))));
  }
  static Int dotSplit(Int acc, Split w, Int a) {
    return addPairs(
        acc, _mm256_maddubs_epi16(w.magnitude, _mm256_xor_si256(a, w.sign)));
  }

  // Four products of quants of 0..63 are at most 4 * 63 * 127, below 2^15.
  static Int dotNarrow(Int acc, Int w0, Int a0, Int w1, Int a1) {
    return addPairs(acc, _mm256_add_epi16(_mm256_maddubs_epi16(w0, a0),
                                          _mm256_maddubs_epi16(w1, a1)));
  }

  // A block adds 16 products of 4-bit quants to a word: at most 16 * 15 * 127,
  // which is below 2^15.
  static Int start4(Int) { return zero(); }
  static Int dot4(Int acc, Int w, Int a) {
    return _mm256_add_epi16(acc, _mm256_maddubs_epi16(w, a));
  }
  static Int finish4(Int acc, Int offset) { return addPairs(offset, acc); }
};

// The table refers to definitions of the other two files.
// clang-format off
#include "runtime/device/cpu/linear/LinearKernels.inc"
#include "runtime/device/cpu/linear/QuantizeRows.inc"
#include "runtime/device/cpu/linear/LinearTable.inc"
// clang-format on

} // namespace

constinit const LinearKernels cpu::linearAvx2 = makeKernels("avx2");
