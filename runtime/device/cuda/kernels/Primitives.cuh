//===- Primitives.cuh - what kernels use of the device --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels reach the device only through these functions, so that the same
// sources run on a GPU, compiled by nvcc, and in the emulator, compiled by the
// host's compiler. Both implementations declare the same names:
//
//   SLUICE_DEVICE                  before a function of kernels
//   SLUICE_MEMBER                  before a member function
//   SLUICE_KERNEL(threads)         before a kernel whose blocks have that many
//   SLUICE_KERNEL_RESIDENT(threads, blocks)
//                                  likewise; in addition, that many of its
//                                  blocks have registers on a multiprocessor at
//                                  a time
//
//   threadIndex() blockX() blockY() blockZ() gridX() gridY() gridZ()
//   sharedMemory()                 dynamic shared memory, aligned to 128 bytes
//   syncThreads() syncWarp()
//   shuffleXor(value, mask)        by a whole warp, for 32-bit types
//   shuffleFrom(value, lane)
//   voteOf(predicate)              bit i is the predicate of lane i
//   incrementShared(counter)       adds 1 to a uint32_t of shared memory that
//                                  other threads add to as well; all threads
//                                  see the sum after a barrier. It returns
//                                  nothing, so no result depends on the
//                                  threads' order
//
//   loadMatrix4(r, row)            ldmatrix.x4: lane i's `row` is the address
//                                  of row i % 8 of matrix i / 8, 8 x 16 bits;
//                                  r[j] gets two elements of row lane / 4 of
//                                  matrix j, from 2 * (lane % 4) on
//   loadMatrix4Transposed(r, row)  likewise, of the transposed matrices
//   multiplyF16(d, a, b0, b1)      mma.m16n8k16: d += a * b with f32 sums of
//   multiplyBF16(d, a, b0, b1)     f16 or bf16 factors, whose products are
//                                  exact. With g = lane / 4, t = lane % 4:
//       a[0..3]  rows g, g+8, g, g+8 at columns 2t,2t+1 (first two), 2t+8,2t+9
//       b0, b1   column g at rows 2t,2t+1 and 2t+8,2t+9
//       d[0..3]  row g at columns 2t, 2t+1; then row g+8
//     The emulator sums d + a[0]b[0] + ... + a[15]b[15] from left to right,
//     each sum rounded to the nearest float, and changes d if all of a is
//     zeros. The hardware has an order and a rounding of its own, which NVIDIA
//     does not document: results agree within a few units of the largest term's
//     last place. On either, an element of d depends only on its row of a and
//     its column of b: not on which row and column of the product these are,
//     nor on the other ones. Therefore a row's bits do not depend on its place
//     in a step. Nothing relies on d + 0 * b being d, except for a d of zero.
//
//   copyAsync16(shared, global)    16 bytes, both aligned to 16
//   copyAsyncCommit()              closes a group of the thread's copies
//   copyAsyncWait<N>()             waits until all but the thread's last N
//                                  groups have arrived; other threads see them
//                                  after a barrier
//
//   launchDependents()             lets the next kernel start
//   waitForPrior()                 waits until the previous kernel has ended
//                                  and its writes are visible
//   takeTicket(counter)            adds 1 and returns the number before it. One
//                                  thread calls it between two barriers: what
//                                  the block wrote before is visible to the
//                                  blocks that take later tickets
//   loadL2(p)                      loads a Vector4 that another block wrote
//   storeGlobal16(p, value)        stores a Vector4 to global memory, in one
//                                  piece wherever its words come from
//   loadHostByte(p)                loads a byte of host memory, as it is now
//   storeHostWord(p, value)        stores a word to host memory, which the host
//                                  polls
//
//   bitCount(bits)                 how many bits are 1
//   multiplyAdd(a, b, c)           a * b + c, rounded once
//   squareRoot(x)                  rounded to nearest
//   floatToHalf halfToFloat floatToBfloat bfloatToFloat   bits, nearest even
//   floatToE4M3                    likewise; saturates at the largest number
//   permuteBytes(a, b, selector)   PRMT: selects from the eight bytes of (b, a)
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

/// The vector that one thread loads at once.
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

/// Returns whether this block is the last of `blocks` that have called this
/// with the same counter, which must be 0 at first and is 0 again for the next
/// kernel. The last block sees all that the others have stored. The whole block
/// calls it; `ticket` is in shared memory that it does not need meanwhile.
SLUICE_DEVICE bool isLastBlock(uint32_t *counter, uint32_t blocks,
                               uint32_t *ticket) {
  syncThreads();
  if (threadIndex() == 0) {
    *ticket = takeTicket(counter);
    if (*ticket == blocks - 1)
      *counter = 0;
  }
  syncThreads();
  return *ticket == blocks - 1;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_PRIMITIVES_CUH
