//===- FatBinary.h - the chips that an image has code for -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_FATBINARY_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_FATBINARY_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::cuda {

/// Returns the chips for which the tool `fatbinary` has put code into an image:
/// "sm_90" for a cubin, and "compute_90" for PTX, from which the driver makes
/// code for later chips. They are in order, each once, without the letters of
/// features (sm_90a). Stops where the image is truncated or invalid.
std::vector<std::string> chipsOf(std::span<const uint8_t> image);

/// Returns an upper bound of the device memory for the code that a driver
/// chooses from the image: the size of its largest entry, unpacked. If it is
/// not such an image, returns its size.
uint64_t codeBytesOf(std::span<const uint8_t> image);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_FATBINARY_H
