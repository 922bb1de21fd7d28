//===- KernelFacts.h - what the bed knows of kernels ----------------------===//
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

/// How far apart a device and the emulator may be in what the kernel makes of
/// floating-point numbers of 32 bits, as a share of the largest magnitude of an
/// array. 0: not at all, bit for bit; so is everything else, of all kernels.
double differenceAllowed(const std::string &kernel);

/// The field of the kernel's structure of arguments that is its 64-bit word
/// `word`, as "rows.pages"; of what is in no list "argument word 7".
std::string fieldName(const std::string &kernel, size_t word);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_TEST_BED_KERNELFACTS_H
