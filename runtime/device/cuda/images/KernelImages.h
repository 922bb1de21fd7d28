//===- KernelImages.h - the compiled kernels, as bytes --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fat binaries for cuModuleLoadData, one for each source of kernels/, with code
// for the chips that the runtime was built for and PTX for later ones.
// kernels/Kernels.h lists the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_IMAGES_KERNELIMAGES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_IMAGES_KERNELIMAGES_H

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::cuda {

struct KernelImage {
  std::string_view source; ///< such as "Linear"
  /// Aligned to 16; valid as long as the process.
  std::span<const uint8_t> bytes;
};

/// Returns the images; none if the runtime was built without nvcc. Thread-safe.
std::span<const KernelImage> kernelImages() asm("sluice_kernel_images");

/// Returns no images. In a program without code for a GPU, the linker uses it
/// in place of kernelImages() and leaves the images out
/// (include/sluice/Target/Link.h). For that, both functions have unmangled
/// names.
std::span<const KernelImage> noKernelImages() asm("sluice_no_kernel_images");

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_IMAGES_KERNELIMAGES_H
