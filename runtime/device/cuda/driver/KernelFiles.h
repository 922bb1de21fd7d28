//===- KernelFiles.h - kernels' images from a folder ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that has been mended, or another way to write it, can be tried in an
// executable that is there already: the environment variable
// SLUICE_KERNEL_IMAGES names a folder, and where that has a file NAME.fatbin or
// NAME.cubin, NAME being a source of kernels/ ("Linear"), it is loaded in the
// place of the image that the executable carries.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_KERNELFILES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_KERNELFILES_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/images/KernelImages.h"

#include <string>
#include <vector>

namespace sluice::cuda {

/// An image that is loaded: the executable's, or a file's.
struct LoadedImage {
  std::string source;                   ///< "Linear"
  std::span<const uint8_t> bytes;       ///< aligned to 8
  std::vector<uint64_t> fileBytes = {}; ///< what `bytes` are of, of a file
};

/// The images of `builtIn`, of which the variable's folder replaces some; all
/// as they are where it is not set. Errors: the folder cannot be read, has no
/// file of these names, or one with such an ending and another name; a file
/// that cannot be read, is empty, or is larger than 256 MiB.
Expected<std::vector<LoadedImage>>
chooseKernelImages(std::span<const KernelImage> builtIn);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_KERNELFILES_H
