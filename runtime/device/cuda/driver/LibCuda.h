//===- LibCuda.h - the driver that NVIDIA's library is --------------------===//
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

/// The functions of a libcuda. Never unloaded. Thread-safe, as they are.
struct LibCuda {
#define SLUICE_DECLARE_CALL(member, symbol, ...) int (*member)(__VA_ARGS__);
  SLUICE_CUDA_CALLS(SLUICE_DECLARE_CALL)
#undef SLUICE_DECLARE_CALL

  /// The error of `result`, which `call` has returned; none for success.
  Status check(int result, const char *call) const;
};

/// Opens the library, e.g. "libcuda.so.1", and initialises it. Errors, one line
/// each: there is none, it lacks a function, it is older than the kernels, it
/// finds no device.
Expected<std::unique_ptr<Driver>> openLibCuda(const std::string &library);

/// Device number `number` of the library's; for LibCuda.cpp.
Expected<std::unique_ptr<Device>> openLibCudaDevice(const LibCuda &lib,
                                                    int32_t number);

} // namespace sluice::cuda

#endif // SLUICE_RUNTIME_DEVICE_CUDA_DRIVER_LIBCUDA_H
