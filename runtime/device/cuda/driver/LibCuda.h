//===- LibCuda.h - the driver that uses NVIDIA's libcuda ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_LIBCUDA_H
#define SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_LIBCUDA_H

#include "runtime/device/cuda/driver/Driver.h"
#include "runtime/device/cuda/driver/LibCudaTypes.h"

namespace sluice::cuda {

/// The functions of a loaded libcuda, which is never unloaded. Thread-safe,
/// like these functions.
struct LibCuda {
#define SLUICE_DECLARE_CALL(member, symbol, ...) int (*member)(__VA_ARGS__);
  SLUICE_CUDA_CALLS(SLUICE_DECLARE_CALL)
#undef SLUICE_DECLARE_CALL

  /// Returns the error for `result`, which `call` has returned; ok for success.
  Status check(int result, const char *call) const;
};

/// Opens the library, e.g. "libcuda.so.1", and initialises it. Errors, one line
/// each: it does not exist, lacks a function, is older than the kernels, or
/// finds no device.
Expected<std::unique_ptr<Driver>> openLibCuda(const std::string &library);

/// Opens the library's device `number`; for LibCuda.cpp.
Expected<std::unique_ptr<Device>> openLibCudaDevice(const LibCuda &lib,
                                                    int32_t number);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_LIBCUDA_H
