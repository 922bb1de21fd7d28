//===- TestUtils.h - helpers for tests of kernels -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTUTILS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTUTILS_H

#include "runtime/base/test/RandomFloats.h"
#include "runtime/device/cuda/emulator/Emulator.h"
#include "runtime/device/cuda/test/bed/DeviceArray.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace sluice::cuda {

template <typename T>
bool sameBits(std::span<const T> a, std::span<const T> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_TESTUTILS_H
