//===- Primitives.cuh - what kernels may use of the device ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels reach the device through these functions alone, so that the same
// sources run on a GPU, compiled by nvcc, and in the emulator, compiled by the
// host's compiler. Both halves declare the same things:
//
//   SLUICE_DEVICE                  before a function of kernels
//   SLUICE_MEMBER                  before a member function
//   SLUICE_KERNEL(threads)         before a kernel: its block has that many
//   SLUICE_KERNEL_RESIDENT(threads, blocks)
//                                  the same, and so many of its blocks have
//                                  registers on a multiprocessor at a time
//
//   threadIndex() blockX() blockY() blockZ() gridX() gridY() gridZ()
//   sharedMemory()                 dynamic shared memory, aligned to 128 bytes
//   syncThreads() syncWarp()
//   shuffleXor(value, mask)        of a whole warp, for 32-bit types
//   shuffleFrom(value, lane)
//   voteOf(predicate)              bit i: lane i's
//   incrementShared(counter)       adds 1 to a uint32_t of shared memory that
//                                  other threads add to as well; all see it
//                                  after a barrier. It gives nothing back, so
//                                  nobody can tell who was first
//
//   loadMatrix4(r, row)            ldmatrix.x4: lane i's `row` is the address
//                                  of row i % 8 of matrix i / 8, 8 x 16 bits;
//                                  of matrix j the lane gets in r[j] the
//                                  elements 2 * (lane % 4) and the one behind
//                                  it of row lane / 4
//   loadMatrix4Transposed(r, row)  the same of the transposed matrices
//   multiplyF16(d, a, b0, b1)      mma.m16n8k16: d += a * b with f32 sums of
//   multiplyBF16(d, a, b0, b1)     f16 or bf16 factors, whose products are
//                                  exact. With g = lane / 4, t = lane % 4:
//       a[0..3]  rows g, g+8, g, g+8 at columns 2t,2t+1 (first two), 2t+8,2t+9
//       b0, b1   column g at rows 2t,2t+1 and 2t+8,2t+9
//       d[0..3]  row g at columns 2t, 2t+1; then row g+8
//     The emulator sums d + a[0]b[0] + ... + a[15]b[15] from left to right,
//     each sum rounded to the nearest float, and takes the liberty to give
//     another d back where all of a is zeros. The hardware has an order and a
//     rounding of its own, which NVIDIA does not document: results agree within
//     a few units of the largest term's last place. On either, an element of d
//     depends on its row of a and its column of b alone: not on which row and
//     column of the product these are, nor on the others. That a row's bits do
//     not depend on its place in a step rests on this; that d + 0 * b is d,
//     but for a d of zero, nothing rests on.
//
//   copyAsync16(shared, global)    16 bytes, both aligned to 16
//   copyAsyncCommit()              closes a group of the thread's copies
//   copyAsyncWait<N>()             until all but its last N groups are there;
//                                  other threads see them after a barrier
//
//   launchDependents()             the next kernel may start
//   waitForPrior()                 until the kernel before is over, and what
//                                  it wrote is visible
//   takeTicket(counter)            adds 1; the number before it. Of one thread
//                                  between two barriers: what the block wrote
//                                  before is visible to the blocks that take
//                                  later tickets
//   loadL2(p)                      a Vector4 that another block wrote
//   storeGlobal16(p, value)        a Vector4 to global memory, in one piece
//                                  wherever its words come from
//   loadHostByte(p)                a byte of the host's memory, as it is now
//   storeHostWord(p, value)        there, where the host looks meanwhile
//
//   bitCount(bits)                 how many are 1
//   multiplyAdd(a, b, c)           a * b + c, rounded once
//   floatToHalf halfToFloat floatToBfloat bfloatToFloat   bits, nearest even
//   floatToE4M3                    the same, to the largest where beyond it
//   permuteBytes(a, b, selector)   PRMT: of the eight bytes of (b, a)
//   subtractHalves(a, b)           two f16 differences
//   multiplyAddHalves(a, b, c)     two of a * b + c, each rounded once
//   maskInto(bits, mask, into)     (bits & mask) | into, as one LOP3 if `into`
//                                  is in a register, which a constant is as
//   constantRegister<bits>()
//
// Everything else is plain C++: no intrinsic, no inline assembly, no warp- or
// block-wide function from elsewhere. Floating-point expressions are compiled
// without contraction, division and square roots are exact, subnormals are
// kept: outside of mma both sides compute the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_PRIMITIVES_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_PRIMITIVES_CUH

#include <stdint.h>

namespace sluice::cuda {

/// What one thread loads at once.
struct alignas(16) Vector4 {
  uint32_t word[4];
};

} // namespace sluice::cuda

#ifdef __CUDACC__
#include "runtime/device/cuda/kernels/PrimitivesDevice.cuh"
#else
#include "runtime/device/cuda/emulator/PrimitivesEmulated.h"
#endif

namespace sluice::cuda {

SLUICE_DEVICE uint32_t laneIndex() { return threadIndex() % 32; }
SLUICE_DEVICE uint32_t warpIndex() { return threadIndex() / 32; }

SLUICE_DEVICE Vector4 load16(const void *p) {
  return *static_cast<const Vector4 *>(p);
}

SLUICE_DEVICE void store16(void *p, const Vector4 &value) {
  *static_cast<Vector4 *>(p) = value;
}

SLUICE_DEVICE float floatOfBits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}
SLUICE_DEVICE uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Two numbers of 16 bits in a register, the first in the low half.
SLUICE_DEVICE uint32_t packHalves(float low, float high) {
  return floatToHalf(low) | uint32_t(floatToHalf(high)) << 16;
}
SLUICE_DEVICE uint32_t packBfloats(float low, float high) {
  return floatToBfloat(low) | uint32_t(floatToBfloat(high)) << 16;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_PRIMITIVES_CUH
