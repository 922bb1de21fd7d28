//===- OpenDriver.cpp - the driver of executables -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/driver/LibCuda.h"

sluice::Expected<std::unique_ptr<sluice::cuda::Driver>>
sluice::cuda::openDriver() {
  return openLibCuda("libcuda.so.1");
}
