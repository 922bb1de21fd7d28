//===- KernelFiles.h - images of kernels from a folder --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets a changed kernel be tried in an existing executable. The environment
// variable SLUICE_KERNEL_IMAGES names a folder. If it has a file NAME.fatbin or
// NAME.cubin, where NAME is a source of kernels/ ("Linear"), that file is
// loaded in place of the image that the executable carries.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_KERNELFILES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_KERNELFILES_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/images/KernelImages.h"

#include <string>
#include <vector>

namespace sluice::cuda {

/// An image to load: the executable's or that of a file.
struct LoadedImage {
  std::string source;                   ///< "Linear"
  std::span<const uint8_t> bytes;       ///< aligned to 8
  std::vector<uint64_t> fileBytes = {}; ///< for a file, owns `bytes`
};

/// Returns the images of `builtIn`, some of which are replaced from the
/// variable's folder; all are unchanged if the variable is not set. Errors: the
/// folder cannot be read, has no file of these names, or has one with such an
/// ending and another name; a file cannot be read, is empty, or is larger than
/// 256 MiB.
Expected<std::vector<LoadedImage>>
chooseKernelImages(std::span<const KernelImage> builtIn);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_KERNELFILES_H
