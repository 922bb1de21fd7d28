//===- KernelImages.h - the compiled kernels, as bytes --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fat binaries for cuModuleLoadData, one for each source of kernels/, with code
// for the chips that the runtime was built for and PTX for later ones. Which
// kernels there are, kernels/Kernels.h says.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_IMAGES_KERNELIMAGES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_IMAGES_KERNELIMAGES_H

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::cuda {

struct KernelImage {
  std::string_view source;        ///< "Linear"
  std::span<const uint8_t> bytes; ///< aligned to 16, for the process's life
};

/// Empty where the runtime was built without nvcc. Thread-safe.
std::span<const KernelImage> kernelImages() asm("sluice_kernel_images");

/// Always empty. In a program without code for a GPU the linker calls it in the
/// place of kernelImages(), and leaves the images out (Link.h). For that, both
/// functions have names that are not mangled.
std::span<const KernelImage> noKernelImages() asm("sluice_no_kernel_images");

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_IMAGES_KERNELIMAGES_H
