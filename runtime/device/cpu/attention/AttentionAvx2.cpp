//===- AttentionAvx2.cpp - attention for x86-64-v3 ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/AttentionTile.h"

#include <immintrin.h>

namespace sluice::cpu {

namespace {

struct Avx2 {
  using Reg = __m256;
  static constexpr int lanes = 8;
  static constexpr int pairsAtOnce = 3;

  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg set1(float x) { return _mm256_set1_ps(x); }
  static Reg load(const float *p) { return _mm256_loadu_ps(p); }
  static Reg load(const int8_t *p) {
    __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
  static void store(float *p, Reg x) { _mm256_storeu_ps(p, x); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static Reg div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  static Reg abs(Reg a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  static Reg iota() { return _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7); }
  static Reg round(Reg a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static Reg twoTo(Reg n) {
    __m256i exponent =
        _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  static Reg keepNotLess(Reg x, Reg low, Reg y) {
    return _mm256_and_ps(_mm256_cmp_ps(x, low, _CMP_NLT_UQ), y);
  }
  static Reg selectLess(Reg a, Reg b, Reg x, Reg y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  static float reduceMax(Reg a) {
    __m128 maxima =
        _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    maxima = _mm_max_ps(maxima, _mm_movehl_ps(maxima, maxima));
    return _mm_cvtss_f32(_mm_max_ss(maxima, _mm_movehdup_ps(maxima)));
  }
  static float reduceAdd(Reg a) {
    __m128 sum =
        _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
  }
};

} // namespace

const AttentionKernels attentionAvx2 = {
    Tile<Avx2>::attend,
    mapVectors<Avx2, Tile<Avx2>::exp>,
    mapVectors<Avx2, Tile<Avx2>::tanh>,
};

} // namespace sluice::cpu
