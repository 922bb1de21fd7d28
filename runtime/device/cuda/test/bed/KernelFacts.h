//===- KernelFacts.h - facts about kernels for the bed --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELFACTS_H
#define SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELFACTS_H

#include <cstddef>
#include <string>

namespace sluice::cuda {

/// Returns how far apart the device's and the emulator's results of the kernel
/// may be in 32-bit floating-point numbers, relative to the largest magnitude
/// of an array. 0 requires the same bits, as always for all other data.
double differenceAllowed(const std::string &kernel);

/// Returns the name of the 64-bit word `word` in the kernel's structure of
/// arguments, such as "rows.pages", or "argument word 7" if the word is in no
/// list.
std::string fieldName(const std::string &kernel, size_t word);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELFACTS_H
