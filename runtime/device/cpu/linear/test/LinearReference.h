//===- LinearReference.h - linear layers by plain scalar code -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every kernel is compared with: straight from the stored bytes, without
// panels, tiles or intrinsics, in the order of sums that Linear.h states, so
// that kernels must agree bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARREFERENCE_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARREFERENCE_H

#include "runtime/device/cpu/linear/ActivationRows.h"
#include "runtime/device/cpu/linear/PackedWeight.h"

namespace sluice::cpu {

/// y = x * weight^T + bias for the stored weight at `src`, with x as `linear`
/// takes it. The spec is one that packedBytes accepts.
void linearReference(const LinearSpec &spec, const void *src, const void *x,
                     const float *bias, float *y, int64_t rows);

/// Quantises `blocks` blocks of 32 floats.
void quantizeReference(const float *x, QuantizedBlock *q, int64_t blocks);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARREFERENCE_H
