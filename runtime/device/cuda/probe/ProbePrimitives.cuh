//===- ProbePrimitives.cuh - what the probe's kernels use besides ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As kernels/Primitives.cuh: two halves, one for the GPU (sm_90a), one for the
// emulator, that declare the same.
//
//   loadStreaming(p)               a Vector4 of memory that nobody writes
//                                  meanwhile, not kept in the first-level cache
//   loadAcquire(p)                 a word of global memory: what its writer's
//                                  block had written before is visible behind
//   addRelease(p, n)               adds to such a word: what the thread has
//                                  written, or has seen written across a
//                                  barrier, is visible to who acquires the sum
//
// Barriers of shared memory (mbarrier), uint64_t, aligned to 8:
//
//   initialiseBarrier(b, n)        for n arrivals in each phase; by one thread,
//                                  before a barrier of the block
//   fenceAsyncProxy()              what the thread has written to shared memory
//                                  is visible to the units that copy and
//                                  multiply (the asynchronous proxy)
//   arrive(b)                      one arrival
//   arriveExpecting(b, bytes)      one arrival; the phase waits for so many
//                                  bytes of bulk copies, too
//   copyBulk(shared, global,       cp.async.bulk: addresses and bytes are
//            bytes, b)             multiples of 16; adds the bytes to b's phase
//   testPhase(b, parity)           whether the phase of that parity has ended,
//                                  which is b's present one or the one before.
//                                  Phases are numbered from 0
//   tryPhase(b, parity)            the same, which may wait for it, as long as
//                                  the hardware likes
//   awaitPhase(b, parity)          until it has ended; false: given up
//
// Products by a warp group, four warps of which each calls all of these:
//
//   matrixDescriptor(shared,       a matrix of 16-bit numbers in shared memory,
//     leadingBytes, strideBytes)   16 features of each of 8 n rows. Core
//                                  matrices of 8 rows by 8 features lie in 128
//                                  bytes, 16 a row; two that lie side by side
//                                  in the features are leadingBytes apart, two
//                                  in the rows strideBytes
//   MatrixProducts products;
//   products.begin(d)              before the first of products that are in
//                                  flight together; behind the last write of d
//                                  and of a
//   products.add<isBfloat>(        wgmma.m64n8k16: d += a * b, of f16 or bf16.
//     d, a, b)                     d and, where it is in registers, a: of each
//                                  warp as of mma.m16n8k16, warp w has rows
//                                  16 w and up. b, and a in shared memory:
//                                  descriptors; b's rows are d's columns
//   products.finish(d)             until all are done; before that d and a stay
//                                  as they are
//
// The emulator makes a bulk copy when the phase is waited for, and products in
// finish(), in the order of mma.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVES_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVES_CUH

#include "runtime/device/cuda/kernels/Primitives.cuh"

#ifdef __CUDACC__
#include "runtime/device/cuda/probe/ProbePrimitivesDevice.cuh"
#else
#include "runtime/device/cuda/probe/ProbePrimitivesEmulated.h"
#endif

namespace sluice::cuda::probe {

/// It gives up after some tenths of a second: a phase that does not end must
/// not keep the GPU. Nobody says how long a try may wait, so there are few of
/// them.
SLUICE_DEVICE bool awaitPhase(uint64_t *barrier, uint32_t parity) {
  constexpr int32_t tries = 64, tests = 1 << 22;
#pragma unroll 1
  for (int32_t i = 0; i < tries; ++i)
    if (tryPhase(barrier, parity))
      return true;
#pragma unroll 1
  for (int32_t i = 0; i < tests; ++i)
    if (testPhase(barrier, parity))
      return true;
  return false;
}

/// The sum over a warp, in every lane.
SLUICE_DEVICE uint64_t warpSum(uint64_t value) {
#pragma unroll
  for (uint32_t mask = 16; mask > 0; mask /= 2) {
    const uint32_t low = shuffleXor(uint32_t(value), mask);
    const uint32_t high = shuffleXor(uint32_t(value >> 32), mask);
    value += uint64_t(high) << 32 | low;
  }
  return value;
}

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVES_CUH
