//===- Chains.cuh - kernels that wait for the previous one ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_CHAINS_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_CHAINS_CUH

#include "runtime/device/cuda/probe/ProbeABI.h"
#include "runtime/device/cuda/probe/ProbePrimitives.cuh"

namespace sluice::cuda::probe {

SLUICE_DEVICE Vector4 plusOne(Vector4 v) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    v.word[i] = bitsOfFloat(floatOfBits(v.word[i]) + 1.0f);
  return v;
}

/// Adds 1 to a block's row; see RowArguments.
SLUICE_DEVICE void countRow(const RowArguments &arg) {
  constexpr int vectors = rowFloats / 4 / rowThreads;
  launchDependents();
  waitForPrior();
  if (int32_t(blockX()) >= *arg.rowCount)
    return;
  float *row = arg.rows + int64_t(blockX()) * rowFloats;
  Vector4 values[vectors];
#pragma unroll
  for (int i = 0; i < vectors; ++i)
    values[i] = load16(row + (i * rowThreads + threadIndex()) * 4);
  if (arg.sharedBytes > 0) {
    // Each thread passes its numbers to another one, which is lane 31 - lane.
    uint8_t *shared = sharedMemory() + arg.sharedBytes - rowBytes;
#pragma unroll
    for (int i = 0; i < vectors; ++i)
      store16(shared + (i * rowThreads + threadIndex()) * 16, values[i]);
    syncThreads();
#pragma unroll
    for (int i = 0; i < vectors; ++i)
      values[i] = load16(shared + (i * rowThreads + (threadIndex() ^ 31)) * 16);
  }
  const uint32_t place =
      arg.sharedBytes > 0 ? threadIndex() ^ 31 : threadIndex();
#pragma unroll
  for (int i = 0; i < vectors; ++i)
    storeGlobal16(row + (i * rowThreads + place) * 4, plusOne(values[i]));
}

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_CHAINS_CUH
