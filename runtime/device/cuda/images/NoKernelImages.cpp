//===- NoKernelImages.cpp - a runtime that was built without nvcc ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/images/KernelImages.h"

std::span<const sluice::cuda::KernelImage> sluice::cuda::kernelImages() {
  return {};
}
