//===- LinearAvx512.cpp - linear kernels for AVX-512 without VNNI ---------===//
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

#include "runtime/device/cpu/linear/Avx512.inc"

struct Isa : Avx512 {
  static constexpr int plainPanels = 4, widenedPanels = 2, plainRows = 6;
  static constexpr int lonePlainRows = 8, loneQuantRows = 12;
  static constexpr int quantPanels = 2, quantRows = 4;
  static constexpr int quadsUnrolled = 1;
  static constexpr bool expandsQuants = true;
  static constexpr int64_t expandedBytesAtMost = 512 << 10;

  struct Quants {
    Int magnitude;
    __mmask64 negative;
  };
  static Int startWide(Int) { return zero(); }
  static Quants quantsWide(Int bytes) {
    Int w = _mm512_xor_si512(bytes, _mm512_set1_epi8(-128));
    return {_mm512_abs_epi8(w), _mm512_movepi8_mask(w)};
  }
  static Int dotWide(Int acc, Quants w, Int a) {
    Int withSign = _mm512_mask_sub_epi8(a, w.negative, zero(), a);
    return addPairs(acc, _mm512_maddubs_epi16(w.magnitude, withSign));
  }
  // Four products of quants of 0..63 are at most 4 * 63 * 127, below 2^15.
  static Int dotNarrow(Int acc, Int w0, Int a0, Int w1, Int a1) {
    return addPairs(acc, _mm512_add_epi16(_mm512_maddubs_epi16(w0, a0),
                                          _mm512_maddubs_epi16(w1, a1)));
  }

  // A block adds 16 products of 4-bit quants to a word: at most 16 * 15 * 127,
  // which is below 2^15.
  static Int start4(Int) { return zero(); }
  static Int dot4(Int acc, Int w, Int a) {
    return _mm512_add_epi16(acc, _mm512_maddubs_epi16(w, a));
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

constinit const LinearKernels cpu::linearAvx512 = makeKernels("avx512");
