//===- Attention.cpp - picks an attention kernel and what it reads --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/Attention.h"
#include "runtime/device/cpu/KvCache.h"

namespace sluice::cpu {

static_assert(attentionPageTokens == CachePages::pageTokens &&
              attentionGroupTokens == groupTokens);

void setCache(AttentionUnit &unit, const LayerCache &cache, int64_t kvHead) {
  const CacheLayout &layout = cache.layout();
  unit.format = layout.format;
  unit.blocks = cache.block(0, kvHead);
  unit.pageStride = layout.pageBytes();
  unit.keyScalesOffset = layout.keyScalesOffset();
  unit.valuesOffset = layout.valuesOffset();
  unit.valueScalesOffset = layout.valueScalesOffset();
  unit.paddedDim = layout.paddedDim;
}

const AttentionKernels &attentionKernels(Isa isa) {
  // The kernels would not gain from VNNI.
  return isa == Isa::Avx2 ? attentionAvx2 : attentionAvx512;
}

} // namespace sluice::cpu
