//===- LinearReference.h - reference of linear layers in scalar code ------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All kernels are compared with this reference. It computes from the stored
// bytes, without panels, tiles or intrinsics, in the order of sums that
// Linear.h defines, so that kernels must agree bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARREFERENCE_H
#define SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARREFERENCE_H

#include "runtime/device/cpu/linear/ActivationRows.h"
#include "runtime/device/cpu/linear/PackedWeight.h"

namespace sluice::cpu {

/// Computes y = x * weight^T + bias for the stored weight at `src`, with x in
/// the form that `linear` takes. packedBytes must accept the spec.
void linearReference(const LinearSpec &spec, const void *src, const void *x,
                     const float *bias, float *y, int64_t rows);

/// Quantises `blocks` blocks of 32 floats.
void quantizeReference(const float *x, QuantizedBlock *q, int64_t blocks);

} // namespace sluice::cpu

#endif // SLUICE_RUNTIME_DEVICE_CPU_LINEAR_TEST_LINEARREFERENCE_H
