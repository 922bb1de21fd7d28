//===- ProbeImages.h - the images of the probe's kernels ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEIMAGES_H
#define SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEIMAGES_H

#include "runtime/device/cuda/images/KernelImages.h"

namespace sluice::cuda {

/// Returns one image, for sm_90a alone; none if the program was built without
/// nvcc. Thread-safe.
std::span<const KernelImage> probeImages();

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_PROBE_PROBEIMAGES_H
