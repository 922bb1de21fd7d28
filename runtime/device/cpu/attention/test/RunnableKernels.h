//===- RunnableKernels.h - every instruction set's, on any processor ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_TEST_RUNNABLEKERNELS_H
#define SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_TEST_RUNNABLEKERNELS_H

#include "runtime/device/cpu/CpuFeatures.h"
#include "runtime/device/cpu/attention/Attention.h"

namespace sluice::cpu {

extern const AttentionKernels attentionAvx512Emulated;

/// The kernels for `isa`: of AVX-512 those compiled for AVX2 where the
/// processor does not have it.
inline const AttentionKernels &runnableKernels(Isa isa) {
  return isa == Isa::Avx512 && !requireIsa(isaName(isa)).ok()
             ? attentionAvx512Emulated
             : attentionKernels(isa);
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_TEST_RUNNABLEKERNELS_H
