//===- Attention.cpp - picks the kernels of an instruction set ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu/attention/Attention.h"

namespace sluice::cpu {

const AttentionKernels &attentionKernels(Isa isa) {
  // Nothing in it would gain from VNNI or BF16.
  return isa == Isa::Avx2 ? attentionAvx2 : attentionAvx512;
}

} // namespace sluice::cpu
