//===- KernelBench.h - times the kernels ----------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_DEVICE_CUDA_BENCH_KERNELBENCH_H
#define SLUICE_RUNTIME_DEVICE_CUDA_BENCH_KERNELBENCH_H

#include "runtime/device/cuda/KernelLibrary.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

namespace sluice::cuda::bench {

/// Times kernels at shapes of Llama 8B. `part` is copy (on the device; bytes
/// read and bytes written both count), linear, prompt, attend or compact. Each
/// measurement is a line:
///
///   {"part": ..., what was computed, "us": time of one launch,
///    "bytes": bytes it must move, "gigabytesPerSecond": ..., "teraflops": ...}
///
/// With `isTiny` shapes are small, for the emulator. Errors: those of the
/// device; there is no such part.
Status runKernelBench(
    std::string_view part, Device &device, KernelLibrary &kernels, bool isTiny,
    const std::function<void(const nlohmann::ordered_json &)> &print);

} // namespace sluice::cuda::bench

#endif // SLUICE_RUNTIME_DEVICE_CUDA_BENCH_KERNELBENCH_H
