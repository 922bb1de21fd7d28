//===- Attend.cu - the kernels of attention -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Attend.cuh"
#include "runtime/device/cuda/kernels/Kernels.h"

using namespace sluice::cuda;

#define SLUICE_ATTEND(kind, name, dim)                                         \
  extern "C" SLUICE_KERNEL_RESIDENT(attendThreads(dim),                        \
                                    attendResidentBlocks(dim))                 \
      sluice_attend_##name##_##dim(const AttendArguments arguments) {          \
    attendSpans<CacheKind::kind, dim>(arguments);                              \
  }                                                                            \
  extern "C" SLUICE_KERNEL(attendThreads(dim))                                 \
      sluice_attend_tile_##name##_##dim(const AttendArguments arguments) {     \
    attendTile<CacheKind::kind, dim>(arguments);                               \
  }
SLUICE_FOR_EACH_ATTEND(SLUICE_ATTEND)
