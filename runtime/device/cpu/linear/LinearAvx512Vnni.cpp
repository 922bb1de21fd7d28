//===- LinearAvx512Vnni.cpp - linear kernels for AVX-512 with VNNI --------===//
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
  static constexpr int quantPanels = 2, quantRows = 5;
  static constexpr int quadsUnrolled = 8;
  static constexpr bool expandsQuants = false;
  static constexpr int64_t expandedBytesAtMost = 768 << 10;

  // vpdpbusd multiplies unsigned by signed bytes and adds four products to each
  // lane without saturating, which is exact.
  static Int dot(Int acc, Int w, Int a) {
    return _mm512_dpbusd_epi32(acc, w, a);
  }

  using Quants = Int;
  static Int startWide(Int offset) { return offset; }
  static Quants quantsWide(Int bytes) { return bytes; }
  static Int dotWide(Int acc, Quants w, Int a) { return dot(acc, w, a); }
  static Int dotNarrow(Int acc, Int w0, Int a0, Int w1, Int a1) {
    return dot(dot(acc, w0, a0), w1, a1);
  }

  static Int start4(Int offset) { return offset; }
  static Int dot4(Int acc, Int w, Int a) { return dot(acc, w, a); }
  static Int finish4(Int acc, Int) { return acc; }
};

// The table refers to definitions of the other two files.
// clang-format off
#include "runtime/device/cpu/linear/LinearKernels.inc"
#include "runtime/device/cpu/linear/QuantizeRows.inc"
#include "runtime/device/cpu/linear/LinearTable.inc"
// clang-format on

} // namespace

constinit const LinearKernels cpu::linearAvx512Vnni = makeKernels("avx512vnni");
