//===- FatBinary.h - which chips an image has code for --------------------===//
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

/// What the tool `fatbinary` has put into an image: "sm_90" for a cubin, and
/// "compute_90" for PTX, from which the driver makes code for later chips; in
/// order, each once. Letters of features (sm_90a) are not told. Stops where the
/// image is cut off or is none.
std::vector<std::string> chipsOf(std::span<const uint8_t> image);

/// At most how many bytes of device memory the code takes that a driver chooses
/// from such an image: as many as its largest entry has, unpacked. Of what is
/// no such image, its size.
uint64_t codeBytesOf(std::span<const uint8_t> image);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_FATBINARY_H
