//===- LinearTile.cu - the kernels of prompts' linear layers --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/LinearTile.cuh"

using namespace sluice::cuda;

#define SLUICE_LINEAR_TILE(kind, name)                                         \
  extern "C" SLUICE_KERNEL(linearTileThreads)                                  \
      sluice_linear_tile_##name(const LinearArguments arguments) {             \
    LinearTileBlock<WeightKind::kind>::run(arguments);                         \
  }
SLUICE_FOR_EACH_LINEAR_TILE(SLUICE_LINEAR_TILE)
