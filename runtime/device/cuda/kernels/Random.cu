//===- Random.cu - makes weights from a seed ------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/RandomTile.cuh"

using namespace sluice::cuda;

#define SLUICE_RANDOM(kind, name)                                              \
  extern "C" SLUICE_KERNEL(randomThreads)                                      \
      sluice_random_##name(const RandomArguments arguments) {                  \
    RandomTile<RandomQuants<WeightKind::kind>>(arguments).make();              \
  }
SLUICE_FOR_EACH_RANDOM(SLUICE_RANDOM)

#define SLUICE_RANDOM_E4M3_OF(kind, name)                                      \
  extern "C" SLUICE_KERNEL(randomThreads)                                      \
      sluice_random_e4m3_of_##name(const RandomArguments arguments) {          \
    RandomTile<RandomE4M3Of<WeightKind::kind>>(arguments).make();              \
  }
SLUICE_FOR_EACH_RANDOM_E4M3_OF(SLUICE_RANDOM_E4M3_OF)
