//===- PrimitivesDevice.cuh - Primitives.cuh on a GPU ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by Primitives.cuh, which describes the functions. For chips from
// sm_80 on; instructions of later chips are left out on chips that lack them.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_PRIMITIVESDEVICE_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_PRIMITIVESDEVICE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define SLUICE_MEMBER __device__ __forceinline__
#define SLUICE_DEVICE static SLUICE_MEMBER
#define SLUICE_KERNEL_RESIDENT(threads, blocks)                                \
  __global__ void __launch_bounds__(threads, blocks)
#define SLUICE_KERNEL(threads) SLUICE_KERNEL_RESIDENT(threads, 1)

namespace sluice::cuda {

SLUICE_DEVICE uint32_t threadIndex() { return threadIdx.x; }
SLUICE_DEVICE uint32_t blockX() { return blockIdx.x; }
SLUICE_DEVICE uint32_t blockY() { return blockIdx.y; }
SLUICE_DEVICE uint32_t blockZ() { return blockIdx.z; }
SLUICE_DEVICE uint32_t gridX() { return gridDim.x; }
SLUICE_DEVICE uint32_t gridY() { return gridDim.y; }
SLUICE_DEVICE uint32_t gridZ() { return gridDim.z; }

SLUICE_DEVICE uint8_t *sharedMemory() {
  extern __shared__ __align__(128) uint8_t sluice_shared[];
  return sluice_shared;
}

SLUICE_DEVICE void syncThreads() { __syncthreads(); }
SLUICE_DEVICE void syncWarp() { __syncwarp(); }

template <typename T> SLUICE_DEVICE T shuffleXor(T value, uint32_t mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <typename T> SLUICE_DEVICE T shuffleFrom(T value, uint32_t lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}
SLUICE_DEVICE uint32_t voteOf(bool predicate) {
  return __ballot_sync(0xffffffffu, predicate);
}

SLUICE_DEVICE uint32_t sharedAddress(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

SLUICE_DEVICE void incrementShared(uint32_t *counter) {
  asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(sharedAddress(counter))
               : "memory");
}

SLUICE_DEVICE void loadMatrix4(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row))
               : "memory");
}
SLUICE_DEVICE void loadMatrix4Transposed(uint32_t (&r)[4], const void *row) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(sharedAddress(row))
      : "memory");
}

SLUICE_DEVICE void multiplyF16(float (&d)[4], const uint32_t (&a)[4],
                               uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
SLUICE_DEVICE void multiplyBF16(float (&d)[4], const uint32_t (&a)[4],
                                uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

SLUICE_DEVICE void copyAsync16(void *shared, const void *global) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sharedAddress(shared)),
      "l"(global)
      : "memory");
}
SLUICE_DEVICE void copyAsyncCommit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int groupsLeft> SLUICE_DEVICE void copyAsyncWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groupsLeft) : "memory");
}

SLUICE_DEVICE void launchDependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
SLUICE_DEVICE void waitForPrior() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

SLUICE_DEVICE uint32_t takeTicket(uint32_t *counter) {
  uint32_t before;
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(counter)
               : "memory");
  return before;
}
SLUICE_DEVICE Vector4 loadL2(const void *p) {
  Vector4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]),
                 "=r"(v.word[3])
               : "l"(p)
               : "memory");
  return v;
}
SLUICE_DEVICE void storeGlobal16(void *p, const Vector4 &v) {
  asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.word[0]),
               "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
               : "memory");
}
SLUICE_DEVICE uint8_t loadHostByte(const uint8_t *p) {
  return *static_cast<const volatile uint8_t *>(p);
}
SLUICE_DEVICE void storeHostWord(int32_t *p, int32_t value) {
  *static_cast<volatile int32_t *>(p) = value;
}

SLUICE_DEVICE int32_t bitCount(uint32_t bits) { return __popc(bits); }
SLUICE_DEVICE float multiplyAdd(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
SLUICE_DEVICE float squareRoot(float x) { return __fsqrt_rn(x); }
SLUICE_DEVICE uint16_t floatToHalf(float value) {
  return __half_as_ushort(__float2half_rn(value));
}
SLUICE_DEVICE float halfToFloat(uint16_t bits) {
  return __half2float(__ushort_as_half(bits));
}
SLUICE_DEVICE uint16_t floatToBfloat(float value) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}
SLUICE_DEVICE float bfloatToFloat(uint16_t bits) {
  return __uint_as_float(uint32_t(bits) << 16);
}
SLUICE_DEVICE uint8_t floatToE4M3(float value) {
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}
SLUICE_DEVICE uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  return __byte_perm(a, b, selector);
}
SLUICE_DEVICE uint32_t subtractHalves(uint32_t a, uint32_t b) {
  uint32_t d;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
SLUICE_DEVICE uint32_t multiplyAddHalves(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
SLUICE_DEVICE uint32_t maskInto(uint32_t bits, uint32_t mask, uint32_t into) {
  uint32_t d;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;"
      : "=r"(d)
      : "r"(bits), "r"(mask), "r"(into));
  return d;
}
template <uint32_t bits> SLUICE_DEVICE uint32_t constantRegister() {
  return bits;
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_KERNELS_PRIMITIVESDEVICE_CUH
