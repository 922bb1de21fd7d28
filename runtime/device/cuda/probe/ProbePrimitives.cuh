//===- ProbePrimitives.cuh - what the probe's kernels use in addition -----===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Like kernels/Primitives.cuh, this has two implementations that declare the
// same names: one for the GPU (sm_90a) and one for the emulator.
//
//   loadStreaming(p)               loads a Vector4 of memory that is not
//                                  written meanwhile; it is not kept in the L1
//                                  cache
//   loadAcquire(p)                 loads a word of global memory; what the
//                                  block of its writer wrote before is visible
//                                  after the load
//   addRelease(p, n)               adds to such a word: what the thread has
//                                  written, or has seen written across a
//                                  barrier, is visible to threads that acquire
//                                  the sum
//
// Barriers of shared memory (mbarrier), uint64_t, aligned to 8:
//
//   initialiseBarrier(b, n)        for n arrivals in each phase; by one thread,
//                                  before a barrier of the block
//   fenceAsyncProxy()              makes the thread's writes to shared memory
//                                  visible to the units that copy and multiply
//                                  (the asynchronous proxy)
//   arrive(b)                      counts one arrival
//   arriveExpecting(b, bytes)      counts one arrival; the phase waits for that
//                                  many bytes of bulk copies, too
//   copyBulk(shared, global,       cp.async.bulk: addresses and bytes are
//            bytes, b)             multiples of 16; adds the bytes to b's phase
//   testPhase(b, parity)           whether the phase of that parity has ended;
//                                  it is b's current phase or the one before.
//                                  Phases are numbered from 0
//   tryPhase(b, parity)            likewise; may wait for it, as long as the
//                                  hardware chooses
//   awaitPhase(b, parity)          waits until it has ended; false if it has
//                                  given up
//
// Products by a warp group of four warps, each of which calls all of these:
//
//   matrixDescriptor(shared,       describes a matrix of 16-bit numbers in
//     leadingBytes, strideBytes)   shared memory, 16 features of each of 8 n
//                                  rows. Core matrices of 8 rows by 8 features
//                                  have 128 bytes, 16 a row; two that are
//                                  adjacent in the features are leadingBytes
//                                  apart, two that are adjacent in the rows
//                                  strideBytes
//   MatrixProducts products;
//   products.begin(d)              comes before the first of the products that
//                                  are in flight together, and after the last
//                                  write of d and of a
//   products.add<isBfloat>(        wgmma.m64n8k16: d += a * b, of f16 or bf16.
//     d, a, b)                     d, and a in registers, are laid out in each
//                                  warp as in mma.m16n8k16; warp w has the rows
//                                  from 16 w on. b, and a in shared memory, are
//                                  descriptors; b's rows are d's columns
//   products.finish(d)             waits until all are done; before that d and
//                                  a must not change
//
// The emulator makes a bulk copy when a thread waits for the phase, and
// products in finish(), in the order of mma.
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

/// Gives up after some tenths of a second, since a phase that does not end must
/// not keep the GPU. How long a try may wait is not documented, so there are
/// few tries.
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

/// Returns the sum over a warp, in every lane.
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
