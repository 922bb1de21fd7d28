//===- Dense.cu - the kernels around products by cuBLASLt -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Dense.cuh"
#include "runtime/device/cuda/kernels/Kernels.h"

using namespace sluice::cuda;

#define SLUICE_DENSE_WEIGHT(kind, name)                                        \
  extern "C" SLUICE_KERNEL(denseThreads)                                       \
      sluice_dense_weight_##name(const DenseWeightArguments arguments) {       \
    DenseUnit<WeightKind::kind>(arguments).unpack();                           \
  }
SLUICE_FOR_EACH_DENSE_WEIGHT(SLUICE_DENSE_WEIGHT)

#define SLUICE_DENSE_RESULTS(kind, name)                                       \
  extern "C" SLUICE_KERNEL(linearThreads)                                      \
      sluice_dense_results_##name(const DenseResultArguments arguments) {      \
    makeDenseResults<WeightKind::kind>(arguments);                             \
  }
SLUICE_FOR_EACH_DENSE_RESULTS(SLUICE_DENSE_RESULTS)
