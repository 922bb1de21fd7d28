//===- Mark.cu - notes how far a graph has come ---------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels/Kernels.h"
#include "runtime/device/cuda/kernels/Primitives.cuh"

using namespace sluice::cuda;

extern "C" SLUICE_KERNEL(markThreads) sluice_mark(const MarkArguments arg) {
  launchDependents();
  waitForPrior();
  if (arg.progress && threadIndex() == 0)
    storeHostWord(arg.progress, int32_t(arg.number));
}
