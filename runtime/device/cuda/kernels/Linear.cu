//===- Linear.cu - the kernels of linear layers ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/Linear.cuh"

using namespace sluice::cuda;

#define SLUICE_LINEAR(kind, name, rows)                                        \
  extern "C" SLUICE_KERNEL_RESIDENT(                                           \
      linearThreads, linearResidentBlocks(WeightKind::kind, rows))             \
      sluice_linear_##name##_##rows(const JoinedLinearArguments arguments) {   \
    LinearBlock<WeightKind::kind, rows>::run(arguments);                       \
  }
SLUICE_FOR_EACH_LINEAR(SLUICE_LINEAR)
