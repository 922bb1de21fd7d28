//===- AttentionReference.h - attention by its definition -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_TEST_ATTENTIONREFERENCE_H
#define SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_TEST_ATTENTIONREFERENCE_H

#include "runtime/device/cpu/CacheFormat.h"
#include "runtime/device/cpu/CpuProgramABI.h"

#include <vector>

namespace sluice::cpu {

/// Returns the attention of one row, out[heads][headDim], in double precision.
/// `q` is [heads][headDim]; `k` and `v` are [position][kvHeads][headDim] and
/// have at least the positions 0 .. position.
std::vector<double> referenceAttention(const SluiceAttention &params,
                                       const float *q,
                                       const std::vector<float> &k,
                                       const std::vector<float> &v,
                                       int64_t position);

/// Returns the numbers of x[heads][headDim] as a cache of that format stores
/// them.
std::vector<float> asStored(const std::vector<float> &x, int64_t headDim,
                            CacheFormat format);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_ATTENTION_TEST_ATTENTIONREFERENCE_H
