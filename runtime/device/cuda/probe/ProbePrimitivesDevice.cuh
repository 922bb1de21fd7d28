//===- ProbePrimitivesDevice.cuh - ProbePrimitives.cuh on a GPU -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by ProbePrimitives.cuh, which describes the functions. For sm_90a.
// What comments say about instructions is from NVIDIA's "Parallel Thread
// Execution ISA", sections mbarrier, cp.async.bulk, wgmma and Memory
// Consistency Model.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVESDEVICE_CUH
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVESDEVICE_CUH

namespace sluice::cuda::probe {

SLUICE_DEVICE Vector4 loadStreaming(const void *p) {
  Vector4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]),
                 "=r"(v.word[3])
               : "l"(p));
  return v;
}

SLUICE_DEVICE uint32_t loadAcquire(const uint32_t *p) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(p)
               : "memory");
  return value;
}

/// Releases are cumulative: a thread that acquires also sees what other threads
/// have written before a barrier that this thread has passed.
SLUICE_DEVICE void addRelease(uint32_t *p, uint32_t n) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(n)
               : "memory");
}

SLUICE_DEVICE void initialiseBarrier(uint64_t *barrier, uint32_t arrivals) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)),
      "r"(arrivals)
      : "memory");
}

/// Orders a thread's writes, which go through the generic proxy, before
/// accesses of bulk copies and wgmma, which go through another proxy and may
/// miss the writes without this fence.
SLUICE_DEVICE void fenceAsyncProxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Releases, at block scope, what the thread has done before, as both arrivals
/// do by default: its reads of a piece come before the copy that overwrites it.
SLUICE_DEVICE void arrive(uint64_t *barrier) {
  asm volatile(
      "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier))
      : "memory");
}

/// The bytes are added to what the phase waits for before the arrival counts,
/// so the phase cannot end between the two.
SLUICE_DEVICE void arriveExpecting(uint64_t *barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   sharedAddress(barrier)),
               "r"(bytes)
               : "memory");
}

/// Copies to the shared memory of a cluster, in which a block's own memory has
/// the same addresses as in the block.
SLUICE_DEVICE void copyBulk(void *shared, const void *global, uint32_t bytes,
                            uint64_t *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
               "bytes [%0], [%1], %2, [%3];" ::"r"(sharedAddress(shared)),
               "l"(global), "r"(bytes), "r"(sharedAddress(barrier))
               : "memory");
}

/// Both acquire, at block scope, by default: the copied bytes are visible to
/// the thread that sees the end of the phase, which needs no fence for that.
#define SLUICE_PHASE(instruction)                                              \
  uint32_t ended;                                                              \
  asm volatile("{\n\t"                                                         \
               ".reg .pred ended;\n\t" instruction                             \
               ".parity.shared::cta.b64 ended, [%1], %2;\n\t"                  \
               "selp.u32 %0, 1, 0, ended;\n\t"                                 \
               "}"                                                             \
               : "=r"(ended)                                                   \
               : "r"(sharedAddress(barrier)), "r"(parity)                      \
               : "memory");                                                    \
  return ended != 0

SLUICE_DEVICE bool testPhase(uint64_t *barrier, uint32_t parity) {
  SLUICE_PHASE("mbarrier.test_wait");
}
SLUICE_DEVICE bool tryPhase(uint64_t *barrier, uint32_t parity) {
  SLUICE_PHASE("mbarrier.try_wait");
}
#undef SLUICE_PHASE

/// Bits 0-13 are the address, 16-29 and 32-45 the two distances; all of them
/// are 18-bit numbers in units of 16 bytes. Bits 49-51, a base for swizzled
/// patterns, and 62-63, the swizzle, are 0 for none. Without a swizzle the
/// leading distance is that of core matrices along the features, and the stride
/// that along the rows, for a factor whose features are adjacent (K-major).
SLUICE_DEVICE uint64_t matrixDescriptor(const void *shared,
                                        uint32_t leadingBytes,
                                        uint32_t strideBytes) {
  auto encoded = [](uint32_t bytes) {
    return uint64_t((bytes & 0x3ffff) >> 4);
  };
  return encoded(sharedAddress(shared)) | encoded(leadingBytes) << 16 |
         encoded(strideBytes) << 32;
}

#define SLUICE_WGMMA(type, a)                                                  \
  "{\n\t"                                                                      \
  ".reg .pred accumulate;\n\t"                                                 \
  "setp.eq.u32 accumulate, 0, 0;\n\t"                                          \
  "wgmma.mma_async.sync.aligned.m64n8k16.f32." type "." type                   \
  " {%0,%1,%2,%3}, " a "\n\t"                                                  \
  "}"
/// A is in registers %4-%7, B's descriptor in %8; nothing is negated, and B is
/// not transposed.
#define SLUICE_WGMMA_REGISTERS(type)                                           \
  SLUICE_WGMMA(type, "{%4,%5,%6,%7}, %8, accumulate, 1, 1, 0;")
/// The descriptors are in %4 and %5; nothing is negated or transposed.
#define SLUICE_WGMMA_SHARED(type)                                              \
  SLUICE_WGMMA(type, "%4, %5, accumulate, 1, 1, 0, 0;")

class MatrixProducts {
public:
  /// Orders earlier accesses of registers before those of the following
  /// products. d is an operand so that the compiler, which does not know this,
  /// writes it before.
  SLUICE_MEMBER void begin(float (&d)[4]) {
    asm volatile("wgmma.fence.sync.aligned;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  }

  template <bool isBfloat>
  SLUICE_MEMBER void add(float (&d)[4], const uint32_t (&a)[4], uint64_t b) {
    if constexpr (isBfloat)
      asm volatile(SLUICE_WGMMA_REGISTERS("bf16")
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                   : "memory");
    else
      asm volatile(SLUICE_WGMMA_REGISTERS("f16")
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                   : "memory");
  }
  template <bool isBfloat>
  SLUICE_MEMBER void add(float (&d)[4], uint64_t a, uint64_t b) {
    if constexpr (isBfloat)
      asm volatile(SLUICE_WGMMA_SHARED("bf16")
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "l"(a), "l"(b)
                   : "memory");
    else
      asm volatile(SLUICE_WGMMA_SHARED("f16")
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                   : "l"(a), "l"(b)
                   : "memory");
  }

  /// d is an operand of the wait so that the compiler reads it afterwards.
  SLUICE_MEMBER void finish(float (&d)[4]) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  }
};

#undef SLUICE_WGMMA_SHARED
#undef SLUICE_WGMMA_REGISTERS
#undef SLUICE_WGMMA

} // namespace sluice::cuda::probe

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEPRIMITIVESDEVICE_CUH
