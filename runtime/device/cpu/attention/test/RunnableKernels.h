//===- RunnableKernels.h - kernels for all instruction sets ---------------===//
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

/// Returns the kernels for `isa`. If the processor lacks AVX-512, these are the
/// AVX-512 kernels compiled for AVX2.
inline const AttentionKernels &runnableKernels(Isa isa) {
  return isa == Isa::Avx512 && !requireIsa(isaName(isa)).ok()
             ? attentionAvx512Emulated
             : attentionKernels(isa);
}

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_TEST_RUNNABLEKERNELS_H
