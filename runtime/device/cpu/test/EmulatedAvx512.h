//===- EmulatedAvx512.h - emulates AVX-512 by AVX2 ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test includes this header before a kernel's source. The source's AVX-512
// intrinsics then become functions that compute the same results in halves,
// with AVX2. Most of these are SIMDe's; this header has those that the SIMDe of
// Debian 12 lacks.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_TEST_EMULATEDAVX512_H
#define SLUICE_RUNTIME_DEVICE_CPU_TEST_EMULATEDAVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

namespace sluice::cpu::emulated {

/// Returns the vector of the float halves that convert(half) returns.
template <typename Half, typename Convert>
inline simde__m512 floatsOf(const Half (&halves)[2], Convert convert) {
  simde__m512_private to;
  for (int i = 0; i < 2; ++i)
    to.m256[i] = convert(halves[i]);
  return simde__m512_from_private(to);
}

inline simde__m512 cvtepi32_ps(simde__m512i a) {
  simde__m512i_private from = simde__m512i_to_private(a);
  return floatsOf(from.m256i,
                  [](__m256i half) { return _mm256_cvtepi32_ps(half); });
}

inline simde__m512 cvtph_ps(__m256i a) {
  __m128i halves[2] = {_mm256_castsi256_si128(a),
                       _mm256_extracti128_si256(a, 1)};
  return floatsOf(halves, [](__m128i half) { return _mm256_cvtph_ps(half); });
}

template <typename Convert>
inline simde__m512i integersOf(__m128i low, __m128i high, Convert convert) {
  simde__m512i_private to;
  to.m256i[0] = convert(low);
  to.m256i[1] = convert(high);
  return simde__m512i_from_private(to);
}

inline simde__m512i cvtepi8_epi32(__m128i a) {
  return integersOf(a, _mm_srli_si128(a, 8),
                    [](__m128i half) { return _mm256_cvtepi8_epi32(half); });
}

inline simde__m512i cvtepu8_epi32(__m128i a) {
  return integersOf(a, _mm_srli_si128(a, 8),
                    [](__m128i half) { return _mm256_cvtepu8_epi32(half); });
}

inline simde__m512i cvtepu16_epi32(__m256i a) {
  return integersOf(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1),
                    [](__m128i half) { return _mm256_cvtepu16_epi32(half); });
}

inline simde__m512i cvtps_epi32(simde__m512 a) {
  simde__m512_private from = simde__m512_to_private(a);
  simde__m512i_private to;
  for (int i = 0; i < 2; ++i)
    to.m256i[i] = _mm256_cvtps_epi32(from.m256[i]);
  return simde__m512i_from_private(to);
}

inline __m256 extractf32x8_ps(simde__m512 a, int half) {
  return simde__m512_to_private(a).m256[half];
}

inline float reduce_max_ps(simde__m512 a) {
  simde__m512_private from = simde__m512_to_private(a);
  float max = from.f32[0];
  for (int i = 1; i < 16; ++i)
    max = from.f32[i] > max ? from.f32[i] : max;
  return max;
}

inline void mask_storeu_ps(void *p, simde__mmask16 mask, simde__m512 a) {
  simde__m512_private from = simde__m512_to_private(a);
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1)
      static_cast<float *>(p)[i] = from.f32[i];
}

inline simde__m512 maskz_loadu_ps(simde__mmask16 mask, const void *p) {
  simde__m512_private to;
  for (int i = 0; i < 16; ++i)
    to.f32[i] = mask >> i & 1 ? static_cast<const float *>(p)[i] : 0;
  return simde__m512_from_private(to);
}

} // namespace sluice::cpu::emulated

// The compiler declares its own intrinsics as well, but those that are
// functions cannot be called.
// NOLINTBEGIN(bugprone-reserved-identifier)
#undef _mm512_extractf32x8_ps
#define _mm512_cvtepi32_ps sluice::cpu::emulated::cvtepi32_ps
#define _mm512_cvtph_ps sluice::cpu::emulated::cvtph_ps
#define _mm512_cvtps_epi32 sluice::cpu::emulated::cvtps_epi32
#define _mm512_extractf32x8_ps sluice::cpu::emulated::extractf32x8_ps
#define _mm512_reduce_max_ps sluice::cpu::emulated::reduce_max_ps
#define _mm512_cvtepi8_epi32 sluice::cpu::emulated::cvtepi8_epi32
#define _mm512_cvtepu8_epi32 sluice::cpu::emulated::cvtepu8_epi32
#define _mm512_cvtepu16_epi32 sluice::cpu::emulated::cvtepu16_epi32
#define _mm512_mask_storeu_ps sluice::cpu::emulated::mask_storeu_ps
#define _mm512_maskz_loadu_ps sluice::cpu::emulated::maskz_loadu_ps
// SIMDe's macro of this name has the wrong parameters.
#undef _mm512_madd_epi16
#define _mm512_madd_epi16 simde_mm512_madd_epi16
// NOLINTEND(bugprone-reserved-identifier)

#endif // SLUICE_RUNTIME_DEVICE_CPU_TEST_EMULATEDAVX512_H
